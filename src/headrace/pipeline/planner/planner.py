"""Plans the views of a project, each after the views that it reads.

A view that is not materialised is planned as part of its readers, so that a filter downstream
prunes files upstream. A large one is planned by itself, so that plans do not grow with every step;
what it reads is then added to what its readers read.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pyarrow as pa

from headrace.errors import AppendRepeatsError, ContractViolatedError, UnknownRelationError
from headrace.pipeline.analysis.analyser import EVERYTHING, Analysis, Analyst, RelationReads
from headrace.pipeline.analysis.depth import deep_nesting
from headrace.pipeline.analysis.graph import topological_order
from headrace.pipeline.analysis.lint import Hazard, is_order_free
from headrace.pipeline.analysis.naming import Naming, combine_namings
from headrace.pipeline.analysis.planning_session import PlanningSession
from headrace.pipeline.analysis.query import Query, parse_query
from headrace.pipeline.analysis.substrait import plan_digest
from headrace.pipeline.analysis.trust import QueryFacts
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.content_hash import content_hash
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.skip_key import FORMAT, KeyParts
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Violation
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.planner.draft import Draft, draft_builder, draft_query
from headrace.pipeline.planner.header_check import (
    check_layout,
    check_promise,
    check_promised_names,
    place_violation,
)
from headrace.pipeline.planner.plan_request import PlanRequest
from headrace.pipeline.planner.source_reader import SourceReader
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.project.setting import variable_text
from headrace.pipeline.project.view import SqlView
from headrace.pipeline.translation.provenance import computation_of

_MAX_SCANS = 8
_MAX_DEPTH = 8
"""The size up to which a view is planned as part of its readers."""


def plan_views(request: PlanRequest) -> dict[str, ViewPlan]:
    """Plan every view, in the order in which they run.

    Raises:
        InvalidViewError, UnknownRelationError, FunctionMissingError: a view is invalid.
        ViewCycleError: views read each other in a circle.
        AppendRepeatsError: a view would append rows that it has appended before.
        ContractViolatedError: views violate their contracts; the error lists all violations.
    """
    with deep_nesting():
        return _Planner(request).plan()


class _PlannedView(msgspec.Struct, frozen=True, kw_only=True):
    """A planned view, and what planning its readers needs."""

    plan: ViewPlan
    schema: pa.Schema | None
    columns: tuple[str, ...]
    """The names of its columns if it has no plan and its SQL determines them."""
    facts: tuple[QueryFacts, ...]
    """Facts about the queries that become part of a reader's plan: its own and inlined ones."""
    reads: Mapping[str, RelationReads]
    """What the view reads of each source, directly or through inlined views."""
    functions: Mapping[str, FunctionPart]
    """Its functions, including those of inlined views."""
    naming: Naming
    """How it names columns, including in inlined views."""
    depth: int
    """The nesting depth of views in its part of a reader's plan; 0 if it is not part of it."""

    @property
    def is_materialised(self) -> bool:
        return self.plan.header.materialise is not Materialise.NONE


class _Planner:
    """Plans the views of one request; each plan is available to the views that read it."""

    def __init__(self, request: PlanRequest) -> None:
        self.request = request
        self.session = PlanningSession(request.settings)
        self.analyst = Analyst(
            self.session,
            catalog=request.catalog,
            variables=request.variables,
            settings=request.settings,
            is_runner=request.runner.startswith("datafusion "),
        )
        self.reader = SourceReader(request.sources)
        self.planned: dict[str, _PlannedView] = {}
        self.violations: list[str] = []

    def plan(self) -> dict[str, ViewPlan]:
        """Plan all views in topological order."""
        queries = {
            name: parse_query(view.sql, file=view.file)
            for name, view in self.request.views.items()
            if isinstance(view, SqlView)
        }
        reads = {
            name: queries[name].relations
            if isinstance(view, SqlView)
            else tuple(sorted(map(str.casefold, view.reads)))
            for name, view in self.request.views.items()
        }
        self._check_relations(reads, queries)
        self._check_appends(reads)
        for name, source in self.request.sources.items():
            self.session.add_table(name, source.schema)
        for name in topological_order(reads):
            draft = self._draft(name, queries.get(name), reads[name])
            self.planned[name] = self._finish(draft)
        if self.violations:
            raise ContractViolatedError(violations=self.violations)
        return {name: planned.plan for name, planned in self.planned.items()}

    def _check_relations(
        self, reads: Mapping[str, Sequence[str]], queries: Mapping[str, Query]
    ) -> None:
        relations_known = {*self.request.views, *self.request.sources}
        for view, relations in sorted(reads.items()):
            for relation in relations:
                if relation not in relations_known:
                    known = sorted(relations_known - {view})
                    query = queries.get(view)
                    position = query.place_of(relation) if query is not None else None
                    place = f"{self.request.views[view].file} {position}" if position else None
                    raise UnknownRelationError(
                        view=view, relation=relation, known=known, place=place
                    )

    def _check_appends(self, reads: Mapping[str, Sequence[str]]) -> None:
        """Reject views that would append the same rows again, unless `@append` allows it."""
        for name, view in self.request.views.items():
            header = view.header
            if header.write is WriteMode.APPEND and header.append is None and reads[name]:
                raise AppendRepeatsError(view=name, file=view.file, reads=reads[name])

    def _draft(self, name: str, query: Query | None, reads: Sequence[str]) -> Draft:
        view = self.request.views[name]
        schemas = {
            relation: self.planned[relation].schema
            if relation in self.planned
            else self.request.sources[relation].schema
            for relation in reads
        }
        if query is None or not isinstance(view, SqlView):
            assert not isinstance(view, SqlView)
            return draft_builder(view, request=self.request, schemas=schemas)
        inlined = [p for r in reads if (p := self.planned.get(r)) and not p.is_materialised]
        return draft_query(
            view,
            query,
            request=self.request,
            analyst=self.analyst,
            schemas=schemas,
            columns={r: self.planned[r].columns for r in reads if r in self.planned},
            inlined=[facts for part in inlined for facts in part.facts],
        )

    def _finish(self, draft: Draft) -> _PlannedView:
        """Complete a draft, and register the view in the session for its readers."""
        view, analysis = draft.view, draft.analysis
        upstream = [self.planned[name] for name in draft.reads if name in self.planned]
        inlined = [part for part in upstream if not part.is_materialised]
        reads = self._source_reads(draft, inlined)
        order_free = (
            draft.query is not None
            and is_order_free(draft.findings)
            and all(part.plan.order_free for part in inlined)
        )
        units = tuple(self.reader.unit(name, reads[name]) for name in sorted(reads))
        naming = combine_namings((draft.naming, *(part.naming for part in inlined)))
        key = self._key(draft, upstream, units, naming=naming, order_free=order_free)
        unproved = self._check_header(draft)
        functions = {**draft.functions}
        for part in inlined:
            functions |= part.functions
        plan = ViewPlan(
            name=view.name,
            kind=draft.kind,
            file=view.file,
            sql=None if draft.query is None else draft.query.sql,
            header=view.header,
            variables={name: variable_text(v) for name, v in draft.variables.items()},
            reads=draft.reads,
            schema=None if analysis.schema is None else schema_text(analysis.schema),
            unplanned=analysis.unplanned,
            unpruned=analysis.unpruned or self._unpruned(),
            datafusion_sql=analysis.datafusion_sql,
            refused=_refused(draft, upstream),
            substrait=analysis.substrait,
            lineage=draft.lineage,
            builder=draft.builder,
            findings=draft.findings,
            order_free=order_free,
            unproved=unproved,
            units=units,
            key=key,
            plan_fingerprint=self._fingerprint(draft, functions),
            skip_key=key.skip_key(),
        )
        scans = len(analysis.lineage.scans) if analysis.lineage else 0
        depth = 1 + max((part.depth for part in inlined), default=0)
        is_small = scans <= _MAX_SCANS and depth <= _MAX_DEPTH
        if analysis.planned and is_small and not _is_materialised(view.header):
            self.session.add_view(view.name, analysis.planned)
            if analysis.exact is not None:
                self.analyst.inlined[view.name] = analysis.exact
        else:
            depth = 0
            if analysis.schema is not None:
                self.session.add_table(view.name, analysis.schema)
        view_facts = () if draft.facts is None else (draft.facts,)
        facts = (*view_facts, *(facts for part in inlined for facts in part.facts))
        return _PlannedView(
            plan=plan,
            schema=analysis.schema,
            columns=draft.columns,
            facts=facts if depth else (),
            reads=reads,
            functions=functions,
            naming=naming,
            depth=depth,
        )

    def _check_header(self, draft: Draft) -> tuple[Violation, ...]:
        """Check a header against the columns of a view; return what only the data can prove."""
        view, analysis = draft.view, draft.analysis
        sql = None if draft.query is None else draft.query.sql
        is_known = analysis.schema is not None and not draft.is_promised
        names = analysis.schema.names if is_known and analysis.schema else draft.columns
        violations, unproved = check_promise(view.header.contract, analysis.schema)
        if not is_known:
            violations += check_promised_names(view.header.contract, names)
        self.violations += [
            place_violation(violation, file=view.file, sql=sql, names=names)
            for violation in violations
        ]
        if names:
            check_layout(view.header, file=view.file, sql=sql, names=names)
        return unproved

    def _source_reads(
        self, draft: Draft, inlined: Sequence[_PlannedView]
    ) -> dict[str, RelationReads]:
        """Return what a view reads of each source, also through views outside its plan."""
        reads: dict[str, RelationReads] = {}
        for source in (*draft.reads, *(source for part in inlined for source in part.reads)):
            if source in self.request.sources:
                reads.setdefault(source, RelationReads())
        if self.request.spark_settings:  # the SQL may mean something else under these
            return dict.fromkeys(reads, EVERYTHING)
        is_planned = draft.analysis.planned is not None
        for relation in draft.analysis.reads if is_planned else draft.reads:
            if relation in self.request.sources:
                reads[relation].add(draft.relation_reads(relation))
            elif not self.planned[relation].is_materialised:
                for source, indirect in self.planned[relation].reads.items():
                    reads[source].add(indirect)
        return reads

    def _key(
        self,
        draft: Draft,
        upstream: Iterable[_PlannedView],
        units: Sequence[ScanUnit],
        *,
        naming: Naming,
        order_free: bool,
    ) -> KeyParts:
        request, view = self.request, draft.view
        older = request.previous.get(view.name)
        previous = None if older is None else older.key
        volatile = [f.text for f in draft.findings if f.hazard is Hazard.VOLATILE]
        for planned in upstream:
            volatile += [f"{planned.plan.name}: {reason}" for reason in planned.plan.key.volatile]
        variables = {f"variable {n}": variable_text(v) for n, v in draft.variables.items()}
        return KeyParts(
            tokens=() if draft.query is None else draft.query.tokens,
            functions=dict(draft.functions),
            sources={
                unit.source: self.reader.part(
                    unit, naming, previous=previous, order_free=order_free
                )
                for unit in units
            },
            settings={**self._settings(), **_writing(view.header), **variables},
            engine=request.runner,
            upstream={
                planned.plan.name: planned.plan.skip_key or ""
                if planned.is_materialised
                else planned.plan.key.definition_key()
                for planned in upstream
            },
            computation=self._computation(draft.analysis),
            volatile=tuple(volatile),
            format=FORMAT,
        )

    def _computation(self, analysis: Analysis) -> dict[str, str]:
        """Return what computes a view on DataFusion; nothing on Spark, which runs the SQL."""
        if not self.analyst.is_runner or analysis.datafusion_sql is None:
            return {}
        return computation_of(analysis.datafusion_sql)

    def _fingerprint(self, draft: Draft, functions: Mapping[str, FunctionPart]) -> str:
        """Return the hash of what is computed: the plan, and what it refers to by name."""
        analysis = draft.analysis
        tokens = () if draft.query is None else draft.query.tokens
        computed = tokens if analysis.substrait is None else plan_digest(analysis.substrait)
        scanned = analysis.reads if analysis.substrait is not None else draft.reads
        return content_hash(
            {
                "planner": self.request.planner,
                "plan": computed or (draft.builder and draft.builder.fingerprint),
                "columns": None if analysis.schema is None else analysis.schema.names,
                "variables": {name: variable_text(v) for name, v in draft.variables.items()},
                "functions": {name: part.fingerprint for name, part in functions.items()},
                "settings": self._settings(),
                "upstream": {
                    name: self.planned[name].plan.plan_fingerprint
                    for name in scanned
                    if name in self.planned
                },
            }
        )

    def _unpruned(self) -> str | None:
        names = ", ".join(self.request.spark_settings)
        return f"under {names} the SQL may mean something else" if names else None

    def _settings(self) -> dict[str, str]:
        settings = self.request.settings
        return {
            "time_zone": settings.time_zone,
            "ansi": str(settings.ansi).lower(),
            **self.request.spark_settings,
        }


def _refused(draft: Draft, upstream: Iterable[_PlannedView]) -> str | None:
    """Return why a view, or a view that it reads, does not run on DataFusion."""
    if draft.refused is not None:
        return draft.refused
    for planned in upstream:
        if planned.plan.refused is not None:
            return f"it reads {planned.plan.name}, which runs on Spark only"
    return None


def _is_materialised(header: Header) -> bool:
    return header.materialise is not Materialise.NONE


def _writing(header: Header) -> dict[str, str]:
    """Return the parts of a header that change what is stored."""
    written = {"materialise": header.materialise.value}
    if header.materialise is Materialise.OUTPUT:
        written |= {
            "write": header.write.value,
            "partition_by": ", ".join(header.partition_by),
            "keys": ", ".join(header.keys),
            "change_feed": str(header.change_feed).lower(),
        }
    if header.contract is not None:
        written["contract"] = header.contract.fingerprint
    return written
