"""Plans the views of a project, one behind the other.

A view that is not materialised is planned as part of whoever reads it, so that a filter
downstream prunes files upstream. Large ones are not, lest plans grow with every step: what they
read is then added to what their readers read.
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
from headrace.pipeline.analysis.query import Query, parse_query
from headrace.pipeline.analysis.session import PlanningSession
from headrace.pipeline.analysis.substrait import plan_digest
from headrace.pipeline.analysis.trust import QueryFacts
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.bundle.digest import digest_of
from headrace.pipeline.bundle.key import FORMAT, KeyParts
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Violation
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.planner.draft import Draft, draft_builder, draft_query
from headrace.pipeline.planner.promise import (
    check_layout,
    check_promise,
    check_promised_names,
    place_violation,
)
from headrace.pipeline.planner.reading import SourceReader
from headrace.pipeline.planner.request import PlanRequest
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.project.setting import variable_text
from headrace.pipeline.project.view import SqlView
from headrace.pipeline.translation.provenance import computation_of

_MOST_SCANS = 8
_DEEPEST = 8
"""How large a view may be to be planned as part of another."""


def plan_views(request: PlanRequest) -> dict[str, ViewPlan]:
    """Plan every view, in the order in which they are to run.

    Raises:
        InvalidViewError, UnknownRelationError, FunctionMissingError: a view is wrong.
        ViewCycleError: views read each other in a circle.
        AppendRepeatsError: a view would append what it has appended before.
        ContractViolatedError: views give something else than they promise; all are named.
    """
    with deep_nesting():
        return _Planner(request).plan()


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """A planned view, and what its readers need to know of it."""

    plan: ViewPlan
    schema: pa.Schema | None
    columns: tuple[str, ...]
    """The names of its columns, where its text tells them and there is no plan."""
    facts: tuple[QueryFacts, ...]
    """Of the queries that become part of a reader's plan: its own and those it inlines."""
    reads: Mapping[str, RelationReads]
    """By source, what it reads of it, itself or through the views it inlines."""
    functions: Mapping[str, FunctionPart]
    """Its own functions, and those of the views it inlines."""
    naming: Naming
    """How it names columns, itself or in the views it inlines."""
    depth: int
    """How many views deep its part of a reader's plan is; 0 if it is no part of it."""

    @property
    def is_materialised(self) -> bool:
        return self.plan.header.materialise is not Materialise.NONE


class _Planner:
    def __init__(self, request: PlanRequest) -> None:
        self.request = request
        self.session = PlanningSession(request.settings)
        self.analyst = Analyst(
            self.session,
            catalog=request.catalog,
            variables=request.variables,
            settings=request.settings,
            is_runner=request.engine.startswith("datafusion "),
        )
        self.reader = SourceReader(request.sources)
        self.known: dict[str, _Known] = {}
        self.violations: list[str] = []

    def plan(self) -> dict[str, ViewPlan]:
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
            self.known[name] = self._finish(self._draft(name, queries.get(name), reads[name]))
        if self.violations:
            raise ContractViolatedError(violations=self.violations)
        return {name: known.plan for name, known in self.known.items()}

    def _check_relations(
        self, reads: Mapping[str, Sequence[str]], queries: Mapping[str, Query]
    ) -> None:
        there = {*self.request.views, *self.request.sources}
        for view, relations in sorted(reads.items()):
            for relation in relations:
                if relation not in there:
                    known = sorted(there - {view})
                    query = queries.get(view)
                    found = query.place_of(relation) if query is not None else None
                    place = f"{self.request.views[view].file} {found}" if found else None
                    raise UnknownRelationError(
                        view=view, relation=relation, known=known, place=place
                    )

    def _check_appends(self, reads: Mapping[str, Sequence[str]]) -> None:
        """Refuse to append what was appended before, unless the author wants just that."""
        for name, view in self.request.views.items():
            header = view.header
            if header.write is WriteMode.APPEND and header.append is None and reads[name]:
                raise AppendRepeatsError(view=name, file=view.file, reads=reads[name])

    def _draft(self, name: str, query: Query | None, reads: Sequence[str]) -> Draft:
        view = self.request.views[name]
        schemas = {
            relation: self.known[relation].schema
            if relation in self.known
            else self.request.sources[relation].schema
            for relation in reads
        }
        if query is None or not isinstance(view, SqlView):
            assert not isinstance(view, SqlView)
            return draft_builder(view, request=self.request, schemas=schemas)
        inlined = [k for r in reads if (k := self.known.get(r)) and not k.is_materialised]
        return draft_query(
            view,
            query,
            request=self.request,
            analyst=self.analyst,
            schemas=schemas,
            columns={r: self.known[r].columns for r in reads if r in self.known},
            inlined=[facts for known in inlined for facts in known.facts],
        )

    def _finish(self, draft: Draft) -> _Known:
        view, analysis = draft.view, draft.analysis
        upstream = [self.known[name] for name in draft.reads if name in self.known]
        inlined = [known for known in upstream if not known.is_materialised]
        reads = self._source_reads(draft, inlined)
        order_free = (
            draft.query is not None
            and is_order_free(draft.findings)
            and all(known.plan.order_free for known in inlined)
        )
        units = tuple(self.reader.unit(name, reads[name]) for name in sorted(reads))
        naming = combine_namings((draft.naming, *(known.naming for known in inlined)))
        key = self._key(draft, upstream, units, naming=naming, order_free=order_free)
        unproved = self._check_header(draft)
        functions = {**draft.functions}
        for known in inlined:
            functions |= known.functions
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
        depth = 1 + max((known.depth for known in inlined), default=0)
        is_small = scans <= _MOST_SCANS and depth <= _DEEPEST
        if analysis.planned and is_small and not _is_materialised(view.header):
            self.session.add_view(view.name, analysis.planned)
        else:
            depth = 0
            if analysis.schema is not None:
                self.session.add_table(view.name, analysis.schema)
        own = () if draft.facts is None else (draft.facts,)
        facts = (*own, *(facts for known in inlined for facts in known.facts))
        return _Known(
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
        """Compare a header with the columns of a view; return what only the data can tell."""
        view, analysis = draft.view, draft.analysis
        sql = None if draft.query is None else draft.query.sql
        is_told = analysis.schema is not None and not draft.is_promised
        names = analysis.schema.names if is_told and analysis.schema else draft.columns
        violations, unproved = check_promise(view.header.contract, analysis.schema)
        if not is_told:
            violations += check_promised_names(view.header.contract, names)
        self.violations += [
            place_violation(violation, file=view.file, sql=sql, names=names)
            for violation in violations
        ]
        if names:
            check_layout(view.header, file=view.file, sql=sql, names=names)
        return unproved

    def _source_reads(self, draft: Draft, inlined: Sequence[_Known]) -> dict[str, RelationReads]:
        """By source: what the plan scans of it, and what views do that are no part of the plan."""
        found: dict[str, RelationReads] = {}
        for source in (*draft.reads, *(source for known in inlined for source in known.reads)):
            if source in self.request.sources:
                found.setdefault(source, RelationReads())
        if self.request.spark_settings:  # under which the text may mean something else
            return dict.fromkeys(found, EVERYTHING)
        is_planned = draft.analysis.planned is not None
        for relation in draft.analysis.reads if is_planned else draft.reads:
            if relation in self.request.sources:
                found[relation].add(draft.relation_reads(relation))
            elif not self.known[relation].is_materialised:
                for source, reads in self.known[relation].reads.items():
                    found[source].add(reads)
        return found

    def _key(
        self,
        draft: Draft,
        upstream: Iterable[_Known],
        units: Sequence[ScanUnit],
        *,
        naming: Naming,
        order_free: bool,
    ) -> KeyParts:
        request, view = self.request, draft.view
        older = request.previous.get(view.name)
        previous = None if older is None else older.key
        volatile = [f.text for f in draft.findings if f.hazard is Hazard.VOLATILE]
        for known in upstream:
            volatile += [f"{known.plan.name}: {reason}" for reason in known.plan.key.volatile]
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
            engine=request.engine,
            upstream={
                known.plan.name: known.plan.skip_key or ""
                if known.is_materialised
                else known.plan.key.definition_key()
                for known in upstream
            },
            computation=self._computation(draft.analysis),
            volatile=tuple(volatile),
            format=FORMAT,
        )

    def _computation(self, analysis: Analysis) -> dict[str, str]:
        """What computes a view on DataFusion; nothing on Spark, which runs the author's text."""
        if not self.analyst.is_runner or analysis.datafusion_sql is None:
            return {}
        return computation_of(analysis.datafusion_sql)

    def _fingerprint(self, draft: Draft, functions: Mapping[str, FunctionPart]) -> str:
        """What is computed: the plan, and whatever is not in it by value."""
        analysis = draft.analysis
        tokens = () if draft.query is None else draft.query.tokens
        computed = tokens if analysis.substrait is None else plan_digest(analysis.substrait)
        scanned = analysis.reads if analysis.substrait is not None else draft.reads
        return digest_of(
            {
                "planner": self.request.planner,
                "plan": computed or (draft.builder and draft.builder.fingerprint),
                "columns": None if analysis.schema is None else analysis.schema.names,
                "variables": {name: variable_text(v) for name, v in draft.variables.items()},
                "functions": {name: part.fingerprint for name, part in functions.items()},
                "settings": self._settings(),
                "upstream": {
                    name: self.known[name].plan.plan_fingerprint
                    for name in scanned
                    if name in self.known
                },
            }
        )

    def _unpruned(self) -> str | None:
        names = ", ".join(self.request.spark_settings)
        return f"under {names} the text may mean something else" if names else None

    def _settings(self) -> dict[str, str]:
        settings = self.request.settings
        return {
            "time_zone": settings.time_zone,
            "ansi": str(settings.ansi).lower(),
            **self.request.spark_settings,
        }


def _refused(draft: Draft, upstream: Iterable[_Known]) -> str | None:
    """Why a view does not run on DataFusion: by itself, or for a view that it reads."""
    if draft.refused is not None:
        return draft.refused
    for known in upstream:
        if known.plan.refused is not None:
            return f"it reads {known.plan.name}, which runs on Spark only"
    return None


def _is_materialised(header: Header) -> bool:
    return header.materialise is not Materialise.NONE


def _writing(header: Header) -> dict[str, str]:
    """What of a header changes what is stored."""
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
