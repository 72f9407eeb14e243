"""Analyses one query: its plan, its columns, and what it reads from each relation.

A parsed query and the schemas of its relations enter; an `Analysis` leaves. The query is planned
with DataFusion over empty tables.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.expr.node import Predicate
from headrace.pipeline.analysis.lineage import Lineage
from headrace.pipeline.analysis.numeric import Kinds
from headrace.pipeline.analysis.plan_reader import PlanReader
from headrace.pipeline.analysis.planning_session import Planned, PlanningSession, Unplannable
from headrace.pipeline.analysis.pruning import Pruner
from headrace.pipeline.analysis.query import Query
from headrace.pipeline.analysis.substrait import plan_bytes
from headrace.pipeline.analysis.translate import Untranslatable, output_names, translate
from headrace.pipeline.analysis.trust import QueryFacts, untrusted_columns
from headrace.pipeline.arrow_ddl import schema_text, spark_schema
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import Settings, VariableValue
from headrace.pipeline.translation.compiler import Clock, Placement
from headrace.pipeline.translation.placement import computes_before_selecting
from headrace.pipeline.translation.query import Translation, translate_query
from headrace.pipeline.translation.refusal import Blame, Refusal, Refused
from headrace.pipeline.translation.table_call import parse_table_call, table_calls_in
from headrace.pipeline.translation.time_cast import UTC_NAMES

_MAX_PREDICATES = 16
"""With more distinct predicates, combining them would prune little and cost much."""


class RelationReads(msgspec.Struct):
    """What a view reads from one relation, over all its scans."""

    predicates: list[Predicate | None] = msgspec.field(default_factory=list)
    """The distinct predicates of the scans, each true for every row its scan needs; None for all
    rows."""
    columns: set[str] | None = msgspec.field(default_factory=set)
    """The columns in lower case; None for all."""
    filters: set[str] = msgspec.field(default_factory=set)

    def add(self, reads: "RelationReads") -> None:
        """Merge what another view reads from the same relation."""
        known = {str(predicate): predicate for predicate in (*self.predicates, *reads.predicates)}
        needs_all = None in known.values() or len(known) > _MAX_PREDICATES
        self.predicates = [None] if needs_all else [*known.values()]
        self.filters |= reads.filters
        both = self.columns is not None and reads.columns is not None
        self.columns = {*self.columns, *reads.columns} if both else None  # type: ignore[misc]


EVERYTHING = RelationReads([None], None, set())
"""All columns and all rows: assumed where nothing is known."""


class ExactTranslation(msgspec.Struct, frozen=True):
    """A query as DataFusion SQL with Spark's semantics, with a running and a stopped clock."""

    running: Translation
    stopped: Translation


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a query before it runs."""

    schema: pa.Schema | None
    """The columns of the result, named as the author names them."""
    unplanned: str | None = None
    datafusion_sql: str | None = None
    planned: Planned | None = None
    substrait: bytes | None = None
    lineage: Lineage | None = None
    reads: Mapping[str, RelationReads] = msgspec.field(default_factory=dict)
    """What is read from each relation that the plan scans."""
    unpruned: str | None = None
    """Why none of the filters may prune files; None if they may."""
    exact: ExactTranslation | None = None
    """The translation, which readers of a view without rows of its own are planned with."""
    refusal: Refusal | None = None
    """Why the query does not run on DataFusion; None if it does. A refused query has only a sketch
    as its plan, as do all queries planned for Spark: `datafusion_sql` is exact if there is no
    refusal, the plan is not."""


class Analyst:
    """Analyses the queries of one project, one at a time."""

    def __init__(
        self,
        session: PlanningSession,
        *,
        catalog: Catalog,
        variables: Mapping[str, VariableValue],
        settings: Settings,
        is_runner: bool = True,
    ) -> None:
        """Take the session in which upstream relations are registered as they become known.

        If Spark runs the query and DataFusion only plans it, a sketch of the query is planned
        instead of its exact translation, which takes several times as long.
        """
        self.session = session
        self.is_runner = is_runner
        self.catalog = catalog
        self.variables = variables
        self.settings = settings
        self.in_utc = settings.time_zone in UTC_NAMES
        self.ansi = settings.ansi
        self.inlined: dict[str, ExactTranslation] = {}
        """The translations of the views that are planned as part of their readers."""

    def analyse(
        self,
        query: Query,
        *,
        schemas: Mapping[str, pa.Schema],
        functions: Collection[str],
        facts: Sequence[QueryFacts],
    ) -> Analysis:
        """Plan a query if DataFusion can, and read from the plan what the query needs.

        Args:
            query: The query.
            schemas: The columns of each relation that it reads.
            functions: The functions of the catalog that it calls.
            facts: The facts of the query and of the queries planned as part of it.
        """
        # A volatile query has no plan to replay; the query itself is run again.
        is_volatile = any(query.reads_clock or query.has_generator for query in facts)
        refusal, exact, planned = None, None, None
        try:
            # A query that is only translated may still be run, and its physical plan is not known.
            placement = Placement.FREE if self.is_runner else Placement.FIXED
            exact = self._translate_exactly(
                query, schemas, is_volatile=is_volatile, placement=placement
            )
            if self.is_runner:
                planned = self._plan_exactly(query, exact, functions=functions)
                can_raise = exact.running.can_raise or len(facts) > 1
                if can_raise and computes_before_selecting(planned.frame):
                    exact = self._translate_exactly(
                        query, schemas, is_volatile=is_volatile, placement=Placement.FIXED
                    )
                    planned = self._plan_in_place(query, exact, functions=functions)
        except Refused as refused:
            refusal = refused.refusal
        except (Unplannable, NotImplementedError) as error:
            refusal = Refusal(reason=str(error), expression="the query", blame=Blame.RUNNER)
        datafusion_sql = None if exact is None or refusal is not None else exact.running.sql
        if planned is None:
            try:
                sketch, planned = self._sketch(
                    query, schemas, functions=functions, is_volatile=is_volatile
                )
                datafusion_sql = datafusion_sql or sketch
            except (Untranslatable, Unplannable, NotImplementedError) as error:
                planned = (
                    None
                    if datafusion_sql is None
                    else self._plan_if_possible(query, exact, functions=functions)
                )
                if planned is None:
                    return Analysis(schema=None, unplanned=str(error), refusal=refusal)
            if refusal is not None:
                refusal = msgspec.structs.replace(refusal, blame=Blame.RUNNER)
        reader = PlanReader(planned.plan)
        typed = planned.schema if exact is None or refusal is not None else exact.stopped.schema
        types = spark_schema(typed).types
        names = _author_names(query.tree, planned.schema.names, schemas)
        fields = [
            field.with_type(kind).with_name(name)
            for field, kind, name in zip(planned.schema, types, names, strict=True)
        ]
        unpruned = _unpruned(facts)
        return Analysis(
            schema=pa.schema(fields),
            datafusion_sql=datafusion_sql,
            planned=planned,
            substrait=None if is_volatile else plan_bytes(planned.plan),
            lineage=reader.lineage(names),
            reads=self._reads(reader, facts, unpruned),
            unpruned=unpruned,
            exact=exact if refusal is None else None,
            refusal=refusal,
        )

    def _translate_exactly(
        self,
        query: Query,
        schemas: Mapping[str, pa.Schema],
        *,
        is_volatile: bool,
        placement: Placement,
    ) -> ExactTranslation:
        """Translate a query into DataFusion SQL with Spark's semantics.

        Raises:
            Refused: there is no such translation.
        """
        running = stopped = self._translated(query, schemas, Clock.RUNNING, placement)
        if running.unnamed is not None:
            raise Refused(running.unnamed)
        if is_volatile:
            stopped = self._translated(query, schemas, Clock.STOPPED, placement)
        return ExactTranslation(running, stopped)

    def _plan_exactly(
        self, query: Query, exact: ExactTranslation, *, functions: Collection[str]
    ) -> Planned:
        """Plan a translation that is meant to run.

        Raises:
            Refused: its types differ from Spark's.
            Unplannable, NotImplementedError: DataFusion or Substrait cannot express it.
        """
        stopped = exact.stopped
        for field in stopped.schema:
            if pa.types.is_null(field.type):
                reason = f"column {field.name} is NULL and has no type: add a CAST"
                raise Refused(Refusal(reason=reason, expression="the query", blame=Blame.RUNNER))
        self._register(query.tree, functions)
        self.session.add_kernels(stopped.kernels)
        for call in table_calls_in(stopped.sql):
            self.session.add_table(call.relation, call.schema(self.catalog))
        planned = self.session.plan(stopped.sql)
        if planned.schema.types != spark_schema(stopped.schema).types:
            reason = f"DataFusion returns {schema_text(planned.schema)}"
            expected = f"Spark returns {schema_text(stopped.schema)}"
            refusal = Refusal(reason=reason, expression=expected, blame=Blame.RUNNER)
            raise Refused(refusal)
        if self.is_runner:
            self.session.check_runnable(planned)
        return planned

    def _plan_in_place(
        self, query: Query, exact: ExactTranslation, *, functions: Collection[str]
    ) -> Planned:
        """Plan a translation in which nothing may be computed before a filter below it.

        Raises:
            Refused: as for `_plan_exactly`, or something still is.
            Unplannable, NotImplementedError: as for `_plan_exactly`.
        """
        planned = self._plan_exactly(query, exact, functions=functions)
        if computes_before_selecting(planned.frame):
            reason = "DataFusion would compute columns for rows that WHERE or LIMIT drops"
            raise Refused(Refusal(reason=reason, expression="the query", blame=Blame.RUNNER))
        return planned

    def _plan_if_possible(
        self, query: Query, exact: ExactTranslation | None, *, functions: Collection[str]
    ) -> Planned | None:
        """Return the plan of an exact translation; None if it cannot be planned either."""
        try:
            return None if exact is None else self._plan_exactly(query, exact, functions=functions)
        except (Refused, Unplannable, NotImplementedError):
            return None

    def _translated(
        self, query: Query, schemas: Mapping[str, pa.Schema], clock: Clock, placement: Placement
    ) -> Translation:
        return translate_query(
            query.sql,
            schemas=schemas,
            functions=self.catalog,
            variables=self.variables,
            settings=self.settings,
            clock=clock,
            placement=placement,
            inlined={
                name: exact.running if clock is Clock.RUNNING else exact.stopped
                for name, exact in self.inlined.items()
                if name in schemas
            },
        )

    def _sketch(
        self,
        query: Query,
        schemas: Mapping[str, pa.Schema],
        *,
        functions: Collection[str],
        is_volatile: bool,
    ) -> tuple[str, Planned]:
        """Plan a translation that reads the same columns and rows, but is never run."""
        kinds = Kinds(query.tree, schemas.values())
        sql = self._sketch_sql(query, kinds, Clock.RUNNING)
        stopped = self._sketch_sql(query, kinds, Clock.STOPPED) if is_volatile else sql
        self._register(query.tree, functions)
        return sql, self.session.plan(stopped)

    def _sketch_sql(self, query: Query, kinds: Kinds, clock: Clock) -> str:
        return translate(
            query.tree,
            catalog=self.catalog,
            variables=self.variables,
            kinds=kinds,
            ansi=self.ansi,
            clock=clock,
        )

    def _register(self, tree: exp.Query, functions: Collection[str]) -> None:
        for call in tree.find_all(exp.Anonymous):
            name = call.name.casefold()
            if name in functions:
                self.session.add_function(self.catalog[name], len(call.expressions))

    def _reads(
        self, reader: PlanReader, facts: Sequence[QueryFacts], unpruned: str | None
    ) -> dict[str, RelationReads]:
        pruner = Pruner(reader.expressions, untrusted=untrusted_columns(facts), in_utc=self.in_utc)
        reads: dict[str, RelationReads] = {}
        for scan in reader.scans:
            if parse_table_call(scan.relation) is not None:
                continue
            relation_reads = reads.setdefault(scan.relation, RelationReads())
            known = pruner.predicate(scan) if unpruned is None else None
            relation_reads.add(
                RelationReads(
                    [known],
                    {scan.names[place] for place in scan.needed},
                    {
                        reader.expressions.text(condition, scan.names)
                        for condition in scan.conditions
                    },
                )
            )
        return reads


def _unpruned(facts: Sequence[QueryFacts]) -> str | None:
    if any(query.reads_clock for query in facts):
        return "it is a different query in each run"
    if any(query.has_generator for query in facts):
        return "it generates rows from arrays"
    constants = (query.untrusted_constant for query in facts)
    constant = next((text for text in constants if text is not None), None)
    return None if constant is None else f"the runners may compute {constant} differently"


def _author_names(
    tree: exp.Query, planned: Sequence[str], schemas: Mapping[str, pa.Schema]
) -> list[str]:
    """Return the result's column names as in Spark: the author's, or the source columns'."""
    written = output_names(tree)
    if None not in written and len(written) == len(planned):
        return [name or planned_name for name, planned_name in zip(written, planned, strict=True)]
    spelled = {field.name.casefold(): field.name for s in schemas.values() for field in s}
    spelled |= {name.casefold(): name for name in written if name}
    return [spelled.get(name, name) for name in planned]
