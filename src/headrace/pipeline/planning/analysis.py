"""One query, analysed: its plan, its columns, and what it reads of each relation."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.expr.node import Predicate
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.planning.lineage import Lineage
from headrace.pipeline.planning.numeric import Kinds
from headrace.pipeline.planning.pruning import Pruner
from headrace.pipeline.planning.query import Query
from headrace.pipeline.planning.reader import PlanReader
from headrace.pipeline.planning.session import Planned, PlanningSession, Unplannable
from headrace.pipeline.planning.substrait import plan_bytes
from headrace.pipeline.planning.translate import Clock, Untranslatable, output_names, translate
from headrace.pipeline.planning.trust import untrusted_columns, untrusted_constant
from headrace.pipeline.project.setting import Settings, VariableValue

_MOST_PREDICATES = 16
"""Beyond so many that differ, a predicate for all of them would prune little and cost much."""
_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Zulu", "Universal"})


class RelationReads(msgspec.Struct):
    """What a view reads of one relation, over all its scans."""

    predicates: list[Predicate | None] = msgspec.field(default_factory=list)
    """Of the scans: what the rows that each needs fulfil, each once; None if all may be needed."""
    columns: set[str] | None = msgspec.field(default_factory=set)
    """The columns in lower case; None for all."""
    filters: set[str] = msgspec.field(default_factory=set)

    def add(self, other: "RelationReads") -> None:
        """Take in what another view reads of the same relation."""
        known = {str(predicate): predicate for predicate in (*self.predicates, *other.predicates)}
        needs_all = None in known.values() or len(known) > _MOST_PREDICATES
        self.predicates = [None] if needs_all else [*known.values()]
        self.filters |= other.filters
        both = self.columns is not None and other.columns is not None
        self.columns = {*self.columns, *other.columns} if both else None  # type: ignore[misc]


EVERYTHING = RelationReads([None], None, set())
"""All columns and all rows: what is read where nothing is known."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a query before it runs."""

    schema: pa.Schema | None
    """The columns of its result, named as the author names them."""
    unplanned: str | None = None
    datafusion_sql: str | None = None
    planned: Planned | None = None
    substrait: bytes | None = None
    lineage: Lineage | None = None
    reads: Mapping[str, RelationReads] = msgspec.field(default_factory=dict)
    """By relation that its plan scans."""
    unpruned: str | None = None
    """Why none of its filters may prune files, if so."""


class Analyst:
    """Analyses the queries of one project, one after the other."""

    def __init__(
        self,
        session: PlanningSession,
        *,
        catalog: Catalog,
        variables: Mapping[str, VariableValue],
        settings: Settings,
    ) -> None:
        """Take the session in which upstream relations are registered as they become known."""
        self.session = session
        self.catalog = catalog
        self.variables = variables
        self.in_utc = settings.time_zone in _UTC
        self.ansi = settings.ansi

    def analyse(
        self,
        query: Query,
        *,
        schemas: Mapping[str, pa.Schema],
        functions: Collection[str],
        inlined: Sequence[exp.Query],
        is_volatile: bool,
    ) -> Analysis:
        """Plan a query, if DataFusion can, and read from the plan what it needs.

        Args:
            query: The query.
            schemas: By relation that it reads, its columns.
            functions: The functions of the catalog that it calls.
            inlined: The queries that are planned as part of it.
            is_volatile: Whether it asks for the time of the run: its plan is no plan to replay.
        """
        kinds = Kinds(query.tree, schemas.values())
        try:
            said = self._said(query, kinds, Clock.RUNNING)
            stopped = self._said(query, kinds, Clock.STOPPED) if is_volatile else said
            self._register(query.tree, functions)
            planned = self.session.plan(stopped)
            reader = PlanReader(planned.plan)
        except (Untranslatable, Unplannable, NotImplementedError) as error:
            return Analysis(schema=None, unplanned=str(error))
        names = _author_names(query.tree, planned.schema.names, schemas)
        fields = [field.with_name(name) for field, name in zip(planned.schema, names, strict=True)]
        unpruned = _unpruned([query.tree, *inlined], is_volatile=is_volatile)
        return Analysis(
            schema=pa.schema(fields),
            datafusion_sql=said,
            planned=planned,
            substrait=None if is_volatile else plan_bytes(planned.plan),
            lineage=reader.lineage(names),
            reads=self._reads(reader, [query.tree, *inlined], unpruned),
            unpruned=unpruned,
        )

    def _said(self, query: Query, kinds: Kinds, clock: Clock) -> str:
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
        self, reader: PlanReader, trees: Sequence[exp.Query], unpruned: str | None
    ) -> dict[str, RelationReads]:
        pruner = Pruner(reader.words, untrusted=untrusted_columns(trees), in_utc=self.in_utc)
        reads: dict[str, RelationReads] = {}
        for scan in reader.scans:
            found = reads.setdefault(scan.relation, RelationReads())
            known = pruner.predicate(scan) if unpruned is None else None
            found.add(
                RelationReads(
                    [known],
                    {scan.names[place] for place in scan.needed},
                    {reader.words.text(condition, scan.names) for condition in scan.conditions},
                )
            )
        return reads


def _unpruned(trees: Sequence[exp.Query], *, is_volatile: bool) -> str | None:
    if is_volatile:
        return "it is another query each run"
    constant = untrusted_constant(trees)
    return None if constant is None else f"the engines may compute {constant} differently"


def _author_names(
    tree: exp.Query, planned: Sequence[str], schemas: Mapping[str, pa.Schema]
) -> list[str]:
    """The names of the result as Spark will have them: the author's, or those of the columns."""
    written = output_names(tree)
    if None not in written and len(written) == len(planned):
        return [name or given for name, given in zip(written, planned, strict=True)]
    spelled = {field.name.casefold(): field.name for s in schemas.values() for field in s}
    spelled |= {name.casefold(): name for name in written if name}
    return [spelled.get(name, name) for name in planned]
