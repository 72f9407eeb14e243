"""Drafts a view plan: analyses one view over the schemas of the relations that it reads.

The planner completes a draft with what depends on other views: scan units, keys, lineage.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.errors import InvalidViewError
from headrace.pipeline.analysis.analyser import EVERYTHING, Analysis, Analyst, RelationReads
from headrace.pipeline.analysis.call import functions_used
from headrace.pipeline.analysis.lineage import Lineage
from headrace.pipeline.analysis.lint import Finding, Hazard, lint_query, volatile_finding
from headrace.pipeline.analysis.name_scope import nearest_name
from headrace.pipeline.analysis.naming import Naming, naming_of
from headrace.pipeline.analysis.query import Query
from headrace.pipeline.analysis.resolver import resolve
from headrace.pipeline.analysis.syntax_error import invalid
from headrace.pipeline.analysis.text_lineage import text_lineage
from headrace.pipeline.analysis.trust import QueryFacts, gather_facts
from headrace.pipeline.analysis.volatile import KnownColumns
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.view_plan import (
    BUILDER_FORMAT,
    BuilderFacts,
    ViewKind,
    ViewPlan,
)
from headrace.pipeline.functions.definition import FunctionKind
from headrace.pipeline.functions.fingerprint import FunctionPart, follow_code
from headrace.pipeline.planner.plan_request import BuilderAnalysis, PlanRequest
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.project.view import BuilderView, SqlView, View
from headrace.pipeline.translation.refusal import Blame, Refusal

_SUBSTITUTION = re.compile(r"\$\{[^}$]+\}")
_PYTHON_ONLY = "it is built in Python, which runs on Spark only"
_NO_SESSION = "it is built in Python, and there was no Spark session to analyse it"
_PYTHON = "it is built in Python: Spark analysed its columns, and nothing is pruned"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One view, analysed by itself."""

    view: View
    kind: ViewKind
    reads: tuple[str, ...]
    functions: Mapping[str, FunctionPart]
    analysis: Analysis
    lineage: Lineage | None = None
    """From its plan, or else from its SQL."""
    columns: tuple[str, ...] = ()
    """The names of its columns if it has no plan and its SQL determines them."""
    is_promised: bool = False
    """Whether its schema is taken from its contract."""
    query: Query | None = None
    facts: QueryFacts | None = None
    """What its query uses that decides whether its plan can be trusted."""
    variables: Mapping[str, VariableValue] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    builder: BuilderFacts | None = None
    refused: str | None = None
    """Why the view does not run on DataFusion; None if it does."""

    @property
    def naming(self) -> Naming:
        """How the view names columns; a builder counts as `SELECT *`."""
        return Naming(has_star=True) if self.query is None else naming_of(self.query.tree)

    def relation_reads(self, relation: str) -> RelationReads:
        """Return what the view reads of a relation; everything if it has no plan."""
        if self.analysis.unplanned is not None:
            return self.analysis.reads.get(relation, EVERYTHING)
        return self.analysis.reads.get(relation, RelationReads())


def draft_query(  # noqa: PLR0913
    view: SqlView,
    query: Query,
    *,
    request: PlanRequest,
    analyst: Analyst,
    schemas: Mapping[str, pa.Schema | None],
    columns: Mapping[str, Sequence[str]],
    inlined: Sequence[QueryFacts],
) -> Draft:
    """Analyse an SQL view.

    Args:
        view: The view.
        query: Its parsed query.
        request: The inputs of planning.
        analyst: Plans the query.
        schemas: The schema of each relation that it reads; None if only a run can determine it.
        columns: The names of columns, where known, of relations without a schema.
        inlined: Facts about the queries that are planned as part of it.

    Raises:
        InvalidViewError: the query is invalid, or uses a variable that is not set.
        FunctionMissingError: the query calls a function that is not declared.
    """
    for name in query.variables:
        if name not in request.variables:
            declared = ", ".join(sorted(request.variables)) or "none"
            close = nearest_name(name, [*request.variables])
            hint = "" if close is None else f"; did you mean :{close}?"
            reason = f"it uses :{name}, which [variables] does not have; there are {declared}{hint}"
            line, column = query.variable_place(name)
            raise InvalidViewError(file=view.file, line=line, column=column, reason=reason)
    functions = functions_used(query, request.catalog, view=view.name, file=view.file)
    volatile = {name: why for name in functions if (why := request.catalog.why_run(name))}
    facts = gather_facts(query.tree)
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    if len(known) < len(schemas):
        unknown = ", ".join(sorted(set(schemas) - set(known)))
        reason = f"the columns of {unknown} are known only after it has run"
        analysis = Analysis(schema=None, unplanned=reason)
    else:
        analysis = analyst.analyse(
            query,
            schemas=known,
            functions=functions,
            facts=(facts, *inlined),
        )
    refused = analysis.unplanned
    lineage = analysis.lineage
    columns_known: tuple[str, ...] = ()
    if any(part.has_generator for part in (facts, *inlined)):
        lineage = None  # the plan has a placeholder for the generator, which hides what it reads
    if lineage is None or analysis.refusal is not None:
        resolver = resolve(query, schemas=schemas, columns=columns, functions=request.catalog)
        # A name that DataFusion has resolved is right, whatever the resolver reports.
        mistakes = resolver.mistakes if analysis.planned is None else resolver.misuses
        for mistake in mistakes[:1]:
            _refuse(view, query, mistake)
        if lineage is None:
            lineage = text_lineage(resolver, query.relations)
        columns_known = resolver.column_names
    if analysis.refusal is not None:
        refused = _refuse(view, query, analysis.refusal)
    is_promised = analysis.schema is None
    if is_promised:
        analysis = msgspec.structs.replace(analysis, schema=_promised(view))
    return Draft(
        view=view,
        kind=ViewKind.SQL,
        reads=query.relations,
        functions={name: request.catalog.part(name) for name in functions},
        analysis=analysis,
        lineage=lineage,
        columns=columns_known,
        is_promised=is_promised,
        query=query,
        facts=facts,
        refused=refused,
        variables={name: request.variables[name] for name in query.variables},
        findings=(
            *_substitutions(query),
            *lint_query(
                query.tree,
                lineage=analysis.lineage,
                volatile=volatile,
                tier=view.header.tier,
                columns=KnownColumns.of(known) if len(known) == len(schemas) else None,
                project_windows=[
                    name for name in functions if request.catalog[name].kind is FunctionKind.WINDOW
                ],
            ),
        ),
    )


def _substitutions(query: Query) -> Iterator[Finding]:
    """Report `${...}` substitutions, which Spark replaces from settings or the environment."""
    for name in sorted(set(_SUBSTITUTION.findall("".join(query.tokens)))):
        text = f"{name} is replaced from the session or the environment; use a variable"
        yield Finding(hazard=Hazard.VOLATILE, code="SUBSTITUTION", text=text)


def draft_builder(
    view: BuilderView, *, request: PlanRequest, schemas: Mapping[str, pa.Schema | None]
) -> Draft:
    """Analyse a builder view: reuse a plan that is still valid, or ask Spark."""
    part = builder_part(view, root=request.root)
    why = part.why_run(view.name)
    findings = () if why is None else (volatile_finding(why),)
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    analysed = None
    if len(known) == len(schemas):
        analysed = _reusable_analysis(request.previous.get(view.name), part, known)
        if analysed is None and request.builders is not None:
            analysed = request.builders.analyse(view, known)
    if analysed is None:
        return Draft(
            view=view,
            kind=ViewKind.BUILDER,
            reads=tuple(sorted(name.casefold() for name in view.reads)),
            functions={view.name: part},
            analysis=Analysis(schema=_promised(view), unplanned=_NO_SESSION),
            is_promised=True,
            findings=findings,
            refused=_PYTHON_ONLY,
        )
    return Draft(
        view=view,
        kind=ViewKind.BUILDER,
        reads=analysed.reads,
        functions={view.name: part},
        refused=_PYTHON_ONLY,
        analysis=Analysis(
            schema=analysed.schema,
            unplanned=_PYTHON,
            reads={
                name: RelationReads([None], set(columns), set())
                for name, columns in analysed.columns.items()
            },
        ),
        builder=BuilderFacts(
            over={name: schema_text(schema) for name, schema in known.items()},
            columns={name: tuple(sorted(columns)) for name, columns in analysed.columns.items()},
            fingerprint=analysed.fingerprint,
            volatile=analysed.volatile,
            format=BUILDER_FORMAT,
        ),
        findings=(
            *findings,
            *(Finding(hazard=Hazard.VOLATILE, code="SPARK", text=why) for why in analysed.volatile),
        ),
    )


def builder_part(view: BuilderView, *, root: Path) -> FunctionPart:
    """Return the fingerprint of a builder's code, as it was loaded."""
    return view.part or follow_code(view.build, signature=f"view {view.name}", root=root).part


def _refuse(view: SqlView, query: Query, refusal: Refusal) -> str:
    """Return the reason why DataFusion refuses a query, with its position.

    Raises:
        InvalidViewError: the query is invalid on every runner.
    """
    if refusal.blame is Blame.AUTHOR:
        raise invalid(refusal, query.sql, file=view.file)
    line, column = refusal.place(query.sql) or (None, None)
    place = "" if line is None else f" line {line} column {column}"
    return f"{view.file}{place}: {refusal}"


def _promised(view: View) -> pa.Schema | None:
    """Return the columns of a view's contract, which readers use if the view has no plan."""
    contract = view.header.contract
    return None if contract is None else contract.to_arrow().remove_metadata()


def _reusable_analysis(
    plan: ViewPlan | None, part: FunctionPart, schemas: Mapping[str, pa.Schema]
) -> BuilderAnalysis | None:
    """Return the analysis in an older plan if the builder's code and inputs are unchanged."""
    if plan is None or plan.builder is None or plan.arrow_schema is None:
        return None
    over = {name: schema_text(schema) for name, schema in schemas.items()}
    if plan.builder.format != BUILDER_FORMAT or plan.builder.over != over:
        return None
    if plan.key.functions.get(plan.name) != part:
        return None
    return BuilderAnalysis(
        reads=plan.reads,
        columns={name: frozenset(columns) for name, columns in plan.builder.columns.items()},
        schema=plan.arrow_schema,
        fingerprint=plan.builder.fingerprint,
        volatile=plan.builder.volatile,
    )
