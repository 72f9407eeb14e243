"""Runs the SQL statements: a `Statement` and a function that opens stores enter, rows leave.

Each statement has fixed columns, so that Spark, the command line and the table function show the
same result.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

import msgspec

from headrace.errors import InvalidArgumentError
from headrace.maintain.base import Base, list_states, read_base, read_state, require_base
from headrace.maintain.cleanup import earlier_clock_ms
from headrace.maintain.describe import describe, log_rows
from headrace.maintain.distribution import RunTasks
from headrace.maintain.downgrade import checkpoint_as_json
from headrace.maintain.home import (
    INDEXTABLES_HOME,
    TRANSACTION_LOG,
    Home,
    HomeKind,
    partition_types,
)
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.partition_filter import PartitionFilter
from headrace.maintain.purge import PurgePlan, plan_purge, plan_truncation, run_purge
from headrace.maintain.repair import repair
from headrace.maintain.setting import StateFormat, StateSettings
from headrace.maintain.statement import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    Purge,
    Repair,
    Statement,
    TableName,
    TruncateTimeTravel,
)
from headrace.maintain.version_file import decode_actions
from headrace.maintain.writer import StateWriter
from headrace.metrics.reporter import Reporter
from headrace.storage.store import WritableStore

OpenStore = Callable[[str], WritableStore]

CHECKPOINT_COLUMNS = {
    "tablePath": "string",
    "status": "string",
    "previousFormat": "string",
    "newFormat": "string",
    "version": "bigint",
    "numFiles": "bigint",
}
PROPERTY_COLUMNS = {"property": "string", "value": "string"}
LOG_COLUMNS = {
    "version": "bigint",
    "action": "string",
    "path": "string",
    "size": "bigint",
    "partitionValues": "map<string,string>",
    "timestamp": "bigint",
}
STATUS_COLUMNS = {"path": "string", "status": "string", "count": "bigint", "message": "string"}

_DEFAULT_PURGE_HOURS = 168.0


class ResultTable(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a statement."""

    columns: dict[str, str]
    """The column names, with their Spark type names."""
    rows: tuple[tuple[Any, ...], ...]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Return each row as a dict from column name to value."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def run_statement(
    statement: Statement,
    *,
    open_store: OpenStore,
    settings: StateSettings | None = None,
    reporter: Reporter | None = None,
    run_tasks: RunTasks | None = None,
) -> ResultTable:
    """Run a statement; `run_tasks` runs the tasks of a large compaction.

    Raises:
        HeadraceError: as documented on the function that implements the statement.
    """
    runner = _Runner(open_store, settings or StateSettings(), reporter, run_tasks)
    match statement:
        case Checkpoint(table=table):
            return runner.checkpoint(table, force=False)
        case Compact(table=table):
            return runner.checkpoint(table, force=True)
        case DescribeState(table=table):
            return runner.describe_state(table)
        case DescribeLog(table=table, include_all=include_all):
            return runner.describe_log(table, include_all=include_all)
        case Purge():
            return runner.purge(statement)
        case TruncateTimeTravel(table=table, dry_run=dry_run):
            return runner.truncate(table, dry_run=dry_run)
        case InvalidateCache(table=named):
            return _status(
                [("" if named is None else named.text, "SUCCESS", 0, "Headrace caches nothing")]
            )
        case DropPartitions(table=table, where=where):
            return runner.drop_partitions(table, where)
        case Repair(table=table, location=location):
            return runner.repair(table, location)
        case _:
            assert_never(statement)


class _Runner:
    def __init__(
        self,
        open_store: OpenStore,
        settings: StateSettings,
        reporter: Reporter | None,
        run_tasks: RunTasks | None,
    ) -> None:
        self._open_store = open_store
        self._run_tasks = run_tasks
        self._settings = settings
        self._reporter = reporter

    def _writer(self, store: WritableStore, home: Home) -> StateWriter:
        return StateWriter(
            store,
            home=home,
            settings=self._settings,
            reporter=self._reporter,
            run_tasks=self._run_tasks,
        )

    def checkpoint(self, table: TableName, *, force: bool) -> ResultTable:
        store, home, base = self._open(table)
        previous = base.format if base.state is None else "avro-state"
        if self._settings.format is StateFormat.JSON:
            written = checkpoint_as_json(store, home, settings=self._settings)
            new = "json" if written.parts is None else "json-multipart"
            row = (table.text, "SUCCESS", previous, new, written.version, written.num_files)
            return ResultTable(columns=CHECKPOINT_COLUMNS, rows=(row,))
        writer = self._writer(store, home)
        if base.state is None or base.pending:
            writer.checkpoint(force_compaction=force)
        else:
            writer.compact(force=force)
        base = read_base(store, home)
        assert base.state is not None
        files = base.state.num_files
        row = (table.text, "SUCCESS", previous, "avro-state", base.state.state_version, files)
        return ResultTable(columns=CHECKPOINT_COLUMNS, rows=(row,))

    def describe_state(self, table: TableName) -> ResultTable:
        store, home, base = self._open(table)
        described = describe(store, home, base, settings=self._settings)
        return ResultTable(columns=PROPERTY_COLUMNS, rows=tuple(described.properties()))

    def describe_log(self, table: TableName, *, include_all: bool) -> ResultTable:
        store, home, base = self._open(table)
        rows = list(log_rows(store, home, base))
        if include_all:
            rows = [*_older_rows(store, home, base), *rows]
        return ResultTable(columns=LOG_COLUMNS, rows=tuple(rows))

    def purge(self, statement: Purge) -> ResultTable:
        store, home, _ = self._open(statement.table)
        settings = self._settings
        older = statement.older_than_hours
        retention = statement.log_retention_hours
        if retention is None:
            retention = settings.retention_hours if older is None else older
        plan = plan_purge(
            store,
            home,
            settings=settings,
            older_than_hours=_DEFAULT_PURGE_HOURS if older is None else older,
            log_retention_hours=retention,
            clock_ms=None if statement.dry_run else earlier_clock_ms(store, home),
        )
        return self._purged(store, home, plan, dry_run=statement.dry_run)

    def truncate(self, table: TableName, *, dry_run: bool) -> ResultTable:
        store, home, base = self._open(table)
        if not dry_run and (base.state is None or base.pending):
            self._writer(store, home).checkpoint()
        clock_ms = None if dry_run else earlier_clock_ms(store, home)
        plan = plan_truncation(store, home, settings=self._settings, clock_ms=clock_ms)
        return self._purged(store, home, plan, dry_run=dry_run)

    def drop_partitions(self, table: TableName, where: str) -> ResultTable:
        store, home, base = self._open(table)
        types = partition_types(base.metadata)
        if not types:
            raise InvalidArgumentError(argument="WHERE", reason="the table has no partitions")
        condition = PartitionFilter(where, types=types)
        shelf = ManifestShelf(store, home.root, types=types)
        entries = list(live_entries(base, home=home, shelf=shelf))
        matching = condition.matches(entries)
        paths = [entry["path"] for entry, matches in zip(entries, matching, strict=True) if matches]
        if not paths:
            return _status([(table.text, "NO_MATCH", 0, "no partition matches")])
        writer = self._writer(store, home)
        result = writer.commit(removes=paths)
        message = f"removed in version {result.version}"
        return _status([(table.text, "SUCCESS", result.removed, message)])

    def repair(self, table: TableName, location: TableName) -> ResultTable:
        store, home = self._place(table)
        target, target_home = self._place(location)
        result = repair(
            store, home, target=target, target_home=target_home, settings=self._settings
        )
        summary = f"version {result.source_version} of the old log"
        rows = [(location.text, "SUCCESS", result.num_files, summary)]
        rows += [(path, "MISSING", 0, "the file does not exist") for path in result.missing]
        rows += [(table.text, "UNREADABLE", 0, reason) for reason in result.unreadable]
        return _status(rows)

    def _purged(
        self, store: WritableStore, home: Home, plan: PurgePlan, *, dry_run: bool
    ) -> ResultTable:
        status = "WOULD_DELETE" if dry_run else "DELETED"
        if not dry_run:
            run_purge(store, home, plan)
        rows = [(path, status, 1, kind) for kind, path in plan.paths()]
        total = f"{plan.size_bytes} bytes; states {list(plan.cleanup.retained)} are retained"
        return _status([*rows, (store.root, "DRY_RUN" if dry_run else "SUCCESS", len(rows), total)])

    def _open(self, table: TableName) -> tuple[WritableStore, Home, Base]:
        store, home = self._place(table)
        return store, home, require_base(read_base(store, home), table=table.text)

    def _place(self, table: TableName) -> tuple[WritableStore, Home]:
        """Return the store and the log folder for the address of a table or of its log."""
        if not table.is_path:
            reason = f"{table.text} is a name in a catalog; give the table's path in quotes"
            raise InvalidArgumentError(argument="table", reason=reason)
        parent, _, name = table.text.rstrip("/").rpartition("/")
        if name.startswith(TRANSACTION_LOG):
            home = Home(kind=HomeKind.INDEXTABLES, root=name)
            return self._open_store(parent or "."), home
        return self._open_store(table.text), INDEXTABLES_HOME


def _older_rows(store: WritableStore, home: Home, base: Base) -> Iterator[tuple[Any, ...]]:
    """Yield the actions of all version files and states older than the newest state."""
    newest = -1 if base.state is None else base.state.state_version
    for meta in store.list(home.root):
        name = meta.path.rpartition("/")[2]
        stem = name.removesuffix(".json")
        if len(stem) == 20 and stem.isdecimal() and int(stem) <= newest:  # noqa: PLR2004
            for action in decode_actions(store.read(meta.path), path=meta.path):
                for kind, body in action.items():
                    fields = body if isinstance(body, dict) else {}
                    path, size = fields.get("path"), fields.get("size")
                    values = fields.get("partitionValues")
                    yield int(stem), kind, path, size, values, meta.modified_ms
    for version in list_states(store, home):
        if version < newest:
            state = read_state(store, home, version)
            older = msgspec.structs.replace(base, state=state, pending=(), version=version)
            yield from log_rows(store, home, older)


def _status(rows: Sequence[tuple[Any, ...]]) -> ResultTable:
    return ResultTable(columns=STATUS_COLUMNS, rows=tuple(rows))
