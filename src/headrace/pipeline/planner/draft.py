"""A view by itself: what is known of it before the views around it are looked at."""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.errors import InvalidViewError
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.view_plan import BuilderFacts, ViewKind, ViewPlan
from headrace.pipeline.functions.fingerprint import FunctionPart, code_part
from headrace.pipeline.planner.request import BuilderAnalysis, PlanRequest
from headrace.pipeline.planning.analysis import EVERYTHING, Analysis, Analyst, RelationReads
from headrace.pipeline.planning.call import functions_used
from headrace.pipeline.planning.lint import Finding, lint_query
from headrace.pipeline.planning.query import Query
from headrace.pipeline.planning.volatile import is_clock
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.project.view import BuilderView, SqlView, View

_NO_SESSION = "it is built in Python, and no Spark session was there to ask"
_PYTHON = "it is built in Python: Spark told its columns, and nothing is pruned"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One view, analysed over the schemas of what it reads."""

    view: View
    kind: ViewKind
    reads: tuple[str, ...]
    functions: Mapping[str, FunctionPart]
    analysis: Analysis
    query: Query | None = None
    variables: Mapping[str, VariableValue] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    builder: BuilderFacts | None = None

    def relation_reads(self, relation: str) -> RelationReads:
        """What it reads of a relation; nothing if its plan does without, all if it has no plan."""
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
    inlined: Sequence[exp.Query],
) -> Draft:
    """Analyse an SQL view.

    Raises:
        InvalidViewError: it uses a variable that nobody has set.
        FunctionMissingError: it calls a function that nobody declares.
    """
    for name in query.variables:
        if name not in request.variables:
            there = ", ".join(sorted(request.variables)) or "none"
            reason = f"it uses :{name}, which [variables] does not have; there are {there}"
            raise InvalidViewError(file=view.file, line=None, reason=reason)
    functions = functions_used(query, request.catalog, view=view.name)
    volatile = [name for name in functions if request.catalog[name].is_volatile]
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    if len(known) < len(schemas):
        unknown = ", ".join(sorted(set(schemas) - set(known)))
        reason = f"the columns of {unknown} are known only once it has run"
        analysis = Analysis(schema=None, unplanned=reason)
    else:
        analysis = analyst.analyse(
            query,
            schemas=known,
            functions=functions,
            inlined=inlined,
            is_volatile=any(
                is_clock(node) for tree in (query.tree, *inlined) for node in tree.walk()
            ),
        )
    if analysis.schema is None:
        analysis = msgspec.structs.replace(analysis, schema=_promised(view))
    return Draft(
        view=view,
        kind=ViewKind.SQL,
        reads=query.relations,
        functions={name: request.catalog.part(name) for name in functions},
        analysis=analysis,
        query=query,
        variables={name: request.variables[name] for name in query.variables},
        findings=lint_query(
            query.tree, lineage=analysis.lineage, volatile=volatile, tier=view.header.tier
        ),
    )


def draft_builder(
    view: BuilderView, *, request: PlanRequest, schemas: Mapping[str, pa.Schema | None]
) -> Draft:
    """Find out about a builder view: from an older plan that still holds, or from an engine."""
    part = code_part(view.build, signature=f"view {view.name}", root=request.root)
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    told = None
    if len(known) == len(schemas):
        told = _remembered(request.previous.get(view.name), part, known)
        if told is None and request.builders is not None:
            told = request.builders.analyse(view, known)
    if told is None:
        return Draft(
            view=view,
            kind=ViewKind.BUILDER,
            reads=tuple(sorted(name.casefold() for name in view.reads)),
            functions={view.name: part},
            analysis=Analysis(schema=_promised(view), unplanned=_NO_SESSION),
        )
    return Draft(
        view=view,
        kind=ViewKind.BUILDER,
        reads=told.reads,
        functions={view.name: part},
        analysis=Analysis(
            schema=told.schema,
            unplanned=_PYTHON,
            reads={
                name: RelationReads([None], set(columns), set())
                for name, columns in told.columns.items()
            },
        ),
        builder=BuilderFacts(
            over={name: schema_text(schema) for name, schema in known.items()},
            columns={name: tuple(sorted(columns)) for name, columns in told.columns.items()},
            fingerprint=told.fingerprint,
        ),
    )


def _promised(view: View) -> pa.Schema | None:
    """The columns of a contract: what readers of a view without a plan can build upon."""
    contract = view.header.contract
    return None if contract is None else contract.to_arrow().remove_metadata()


def _remembered(
    plan: ViewPlan | None, part: FunctionPart, schemas: Mapping[str, pa.Schema]
) -> BuilderAnalysis | None:
    """What an older plan knows of a builder, if its code and its inputs are the same."""
    if plan is None or plan.builder is None or plan.arrow_schema is None:
        return None
    over = {name: schema_text(schema) for name, schema in schemas.items()}
    if plan.builder.over != over or plan.key.functions.get(plan.name) != part:
        return None
    return BuilderAnalysis(
        reads=plan.reads,
        columns={name: frozenset(columns) for name, columns in plan.builder.columns.items()},
        schema=plan.arrow_schema,
        fingerprint=plan.builder.fingerprint,
    )
