"""A view by itself: what is known of it before the views around it are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from headrace.errors import InvalidViewError
from headrace.pipeline.bundle.view_plan import ViewKind
from headrace.pipeline.functions.fingerprint import FunctionPart, code_part
from headrace.pipeline.planner.request import PlanRequest
from headrace.pipeline.planning.analysis import EVERYTHING, Analysis, Analyst, RelationReads
from headrace.pipeline.planning.call import functions_used
from headrace.pipeline.planning.lint import Finding, lint_query
from headrace.pipeline.planning.query import Query
from headrace.pipeline.planning.volatile import is_clock
from headrace.pipeline.project.setting import VariableValue
from headrace.pipeline.project.view import BuilderView, SqlView, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One view, analysed over the schemas of what it reads."""

    view: View
    kind: ViewKind
    reads: tuple[str, ...]
    functions: Mapping[str, FunctionPart]
    analysis: Analysis
    query: Query | None = None
    variables: Mapping[str, VariableValue] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    fingerprint: str = ""
    """Of a builder's analysed plan, where an engine told it."""

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
    """Ask an engine about a builder view, if there is one."""
    part = code_part(view.build, signature=f"view {view.name}", root=request.root)
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    reads = tuple(sorted(name.casefold() for name in view.reads))
    contract = view.header.contract
    promised = None if contract is None else contract.to_arrow().remove_metadata()
    if request.builders is None or len(known) < len(schemas):
        reason = "it is built in Python, and no Spark session was there to ask"
        return Draft(
            view=view,
            kind=ViewKind.BUILDER,
            reads=reads,
            functions={view.name: part},
            analysis=Analysis(schema=promised, unplanned=reason),
        )
    told = request.builders.analyse(view, known)
    return Draft(
        view=view,
        kind=ViewKind.BUILDER,
        reads=told.reads,
        functions={view.name: part},
        analysis=Analysis(
            schema=told.schema,
            unplanned="it is built in Python: Spark told its columns, and nothing is pruned",
            reads={
                name: RelationReads([None], set(columns), set())
                for name, columns in told.columns.items()
            },
        ),
        fingerprint=told.fingerprint,
    )
