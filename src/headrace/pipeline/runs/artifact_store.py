"""The artifact store: what runs were and did, below a project's state folder.

    store/<table>          Delta tables of runs, views, scan units, marks and plans, appended to
    bundles/, files/       bundles and lists of files, each under its digest
    results.json           the newest result of each view

Everything is written through one store, and is durable when a method returns. Runs read bundles by
id and results from the index, so the cost of a run does not grow with the number of earlier runs.
"""

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from headrace.errors import HeadraceError, PipelineError, RunNotFoundError
from headrace.pipeline.bundle.bundle import FORMAT, Bundle, decode_bundle
from headrace.pipeline.place import Place
from headrace.pipeline.runs.artifact import (
    SCHEMAS,
    PlanStage,
    StoreTable,
    day_of,
    mark_rows,
    marks_in_units,
    plan_rows,
    run_row,
    unit_rows,
    view_row,
)
from headrace.pipeline.runs.blob import BlobStore
from headrace.pipeline.runs.file_mark import newest_marks
from headrace.pipeline.runs.history_table import HistoryTable, literal
from headrace.pipeline.runs.result_index import (
    ResultIndex,
    StandingResult,
    is_current,
    read_index,
    rebuild_index,
    write_index,
)
from headrace.pipeline.runs.run_record import RunRecord, RunStatus, ViewRun
from headrace.pipeline.runs.upkeep import keep_up
from headrace.storage.store import WritableStore

LATEST = "latest"
_BUNDLE_ID = re.compile(r"[0-9a-f]+")
STORE = "store"
"""The folder of the tables below the state folder of a project."""

OpenStore: TypeAlias = Callable[[str], WritableStore]
"""Opens a folder for reading and writing."""

_LOG = logging.getLogger(__name__)
_MARK_COLUMNS = ("started_ms", "source", "path", "dv_id", "size_bytes", "modified_ns", "content")


class ArtifactStore:
    """The records of a project's runs."""

    def __init__(
        self,
        folder: Place | PathLike[str],
        *,
        outputs: Place | None = None,
        open_store: OpenStore | None = None,
    ) -> None:
        """Take the state folder of a project; it is created by the first write.

        Args:
            folder: The state folder.
            outputs: The folder of the project's output tables. Records have its address at the
                time of their run; the project may have been moved or copied since.
            open_store: Opens a folder for reading and writing; by default with its options.
        """
        self.folder, self._outputs = Place.of(folder), outputs
        self._open = open_store or (lambda uri: self.folder.at(uri).open())
        self._store = self._open(str(self.folder))
        self._blobs = BlobStore(self._store)

    @cached_property
    def _tables(self) -> dict[StoreTable, HistoryTable]:
        return {
            name: HistoryTable(self._open(str(folder)), schema, options=folder.options)
            for name, schema in SCHEMAS.items()
            for folder in [self.folder / STORE / name]
        }

    def add_run(self, record: RunRecord) -> None:
        """Record the status of a run; it supersedes earlier records of the run."""
        self._append(StoreTable.RUNS, [run_row(record)])

    def add_bundle(self, bundle: Bundle) -> None:
        """Store a bundle and its lists of files, if they are not stored yet."""
        if bundle.format == FORMAT:  # a bundle of an older format was read from this store
            self._blobs.put_bundle(bundle)

    def add_views(self, record: RunRecord, views: Sequence[ViewRun]) -> None:
        """Record the outcomes of views."""
        if not views:
            return
        self._tables[StoreTable.VIEWS].unpartition()
        index = self._index()
        version = self._append(StoreTable.VIEWS, [view_row(record, view) for view in views])
        if version == index.version + 1:  # else the index lacks the rows of another writer
            self._save(index.with_views(record, views, version=version))

    def add_units(self, record: RunRecord, bundle: Bundle, views: Collection[str]) -> None:
        """Record what views read of their sources."""
        self._move_marks()
        self._append(
            StoreTable.UNITS, [row for view in views for row in unit_rows(record, bundle, view)]
        )

    def add_marks(self, record: RunRecord, marks: pa.Table) -> None:
        """Record the marks that a run has made."""
        if marks.num_rows:
            self._tables[StoreTable.MARKS].append(mark_rows(record, marks))

    def add_plans(self, record: RunRecord, plans: Mapping[str, Mapping[PlanStage, str]]) -> None:
        """Record the query plans of views."""
        rows = [row for view, stages in plans.items() for row in plan_rows(record, view, stages)]
        self._append(StoreTable.PLANS, rows)

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """Return the runs, newest first, without their views."""
        where = None
        if limit is not None:
            starts = self._tables[StoreTable.RUNS].read(["run", "started_ms"])
            newest = starts.group_by("run").aggregate([("started_ms", "min")])
            newest = newest.sort_by([("started_ms_min", "descending")]).slice(0, limit)
            if newest.num_rows == 0:
                return []
            where = f"started_ms >= {pc.min(newest['started_ms_min'])}"
        runs: dict[str, RunRecord] = {}
        for row in self._tables[StoreTable.RUNS].rows(["record"], where=where):
            _supersede(runs, msgspec.json.decode(row["record"], type=RunRecord))
        newest_first = sorted(runs.values(), key=lambda run: (run.started_ms, run.id))[::-1]
        return newest_first[:limit]

    def find(self, run: str) -> RunRecord:
        """Return a run with its views, given its id, a prefix of the id, or `latest`.

        Raises:
            RunNotFoundError: no run matches, or more than one.
        """
        record = self._find_without_views(run)
        rows = self._rows_of_run(StoreTable.VIEWS, record, ["record", "recorded_ms"])
        views = {
            view.view: view
            for row in sorted(rows, key=lambda row: row["recorded_ms"] or 0)
            for view in [self._decode_view(row["record"])]
        }
        try:
            order = self.bundle(record.bundle).order
        except PipelineError:  # a run can be shown without its plan
            order = tuple(sorted(views, key=lambda name: (views[name].started_ms or 0, name)))
        in_order = {name: views[name] for name in order if name in views}
        return msgspec.structs.replace(record, views=in_order)

    def _find_without_views(self, run: str) -> RunRecord:
        if run == LATEST:
            newest = self.runs(limit=1)
            if not newest:
                raise RunNotFoundError(run=run, similar=[])
            return newest[0]
        run_ids = pc.unique(self._tables[StoreTable.RUNS].read(["run"])["run"]).to_pylist()
        matching = [run_id for run_id in run_ids if run_id == run]
        matching = matching or [run_id for run_id in run_ids if run and run_id.startswith(run)]
        if len(matching) != 1:
            raise RunNotFoundError(run=run, similar=sorted(matching or run_ids, reverse=True)[:5])
        runs: dict[str, RunRecord] = {}
        where = f"run = {literal(matching[0])}"
        for row in self._tables[StoreTable.RUNS].rows(["record"], where=where):
            _supersede(runs, msgspec.json.decode(row["record"], type=RunRecord))
        return runs[matching[0]]

    def bundle(self, bundle: str) -> Bundle:
        """Return a bundle by id; the lists of its files are read on demand.

        Raises:
            RunNotFoundError: there is no such bundle.
            BundleDamagedError: its content does not match its id, or its format is not supported.
        """
        encoded = self._blobs.bundle(bundle)
        if encoded is None:
            where = f"bundle = {literal(bundle)}"
            stored = self._tables[StoreTable.BUNDLES].read(["content"], where=where)
            if not stored.num_rows:
                raise RunNotFoundError(run=f"bundle {bundle}", similar=[])
            encoded = stored["content"][0].as_py()
        return decode_bundle(encoded, files=self._blobs.files)

    def find_bundle(self, bundle: str) -> Bundle:
        """Return a bundle by id, or by a prefix of the id.

        Raises:
            RunNotFoundError: no bundle matches, or more than one.
            BundleDamagedError: its content does not match its id, or its format is not supported.
        """
        if not _BUNDLE_ID.fullmatch(bundle):
            raise RunNotFoundError(run=f"bundle {bundle}", similar=[])
        matching = self._blobs.bundles(bundle) or [bundle]
        if len(matching) > 1:
            raise RunNotFoundError(run=f"bundle {bundle}", similar=matching[:5])
        return self.bundle(matching[0])

    def plans(self, record: RunRecord, view: str) -> dict[PlanStage, str]:
        """Return the query plans of a view."""
        rows = self._rows_of_run(StoreTable.PLANS, record, ["stage", "text"], view=view)
        return {PlanStage(row["stage"]): row["text"] for row in rows}

    def marks(self, source: str, *, until: RunRecord | None = None) -> pa.Table:
        """Return the newest mark of each file of a source, with the columns of `MARKS`.

        Args:
            source: The name of the source.
            until: Omit marks of runs that started after this one.
        """
        is_source = f"source = {literal(source)}"
        is_earlier = "" if until is None else f" AND started_ms <= {until.started_ms}"
        marks = self._tables[StoreTable.MARKS].read(_MARK_COLUMNS, where=f"{is_source}{is_earlier}")
        if self._has_marks_in_units():
            old = self._marks_in_units(where=is_source).select(_MARK_COLUMNS)
            if until is not None:
                old = old.filter(pc.field("started_ms") <= until.started_ms)
            marks = pa.concat_tables([marks.cast(old.schema), old])
        return newest_marks(marks)

    def last_results(self, views: Collection[str]) -> dict[str, StandingResult]:
        """Return the newest result of each view."""
        results = self._index().results
        return {
            view: msgspec.structs.replace(result, record=self._relocate(result.record))
            for view in views
            if (result := results.get(view)) is not None
        }

    def histories(self, runs_newest_first: Sequence[RunRecord]) -> dict[str, list[ViewRun | None]]:
        """Return the outcome of each view in each of the runs."""
        if not runs_newest_first:
            return {}
        column = {run.id: number for number, run in enumerate(runs_newest_first)}
        days = [day_of(run.started_ms) for run in runs_newest_first]
        where = f"date >= DATE '{min(days)}' AND date <= DATE '{max(days)}'"
        histories: dict[str, list[ViewRun | None]] = {}
        for row in self._tables[StoreTable.VIEWS].rows(["run", "record"], where=where):
            if row["run"] in column:
                view = self._decode_view(row["record"])
                history = histories.setdefault(view.view, [None] * len(column))
                history[column[row["run"]]] = view
        return histories

    def upkeep(self, *, now_ms: int | None = None) -> None:
        """Compact the tables. Called after a run; a failure is logged and harmless."""
        for name, table in self._tables.items():
            if name is StoreTable.BUNDLES:
                continue
            try:
                if name is StoreTable.UNITS:
                    self._move_marks()
                keep_up(table, now_ms=now_ms)
            except (HeadraceError, DeltaError, OSError) as error:
                _LOG.warning("%s: upkeep failed: %s", table.store.root, error)

    def _decode_view(self, record: str) -> ViewRun:
        return self._relocate(msgspec.json.decode(record, type=ViewRun))

    def _relocate(self, view: ViewRun) -> ViewRun:
        """Return a record with its output at the project's current location."""
        if self._outputs is None or view.output is None:
            return view
        uri = str(self._outputs / view.view)
        return msgspec.structs.replace(view, output=msgspec.structs.replace(view.output, uri=uri))

    def _index(self) -> ResultIndex:
        """Return the index, rebuilt from the tables if it is not up to date."""
        views = self._tables[StoreTable.VIEWS]
        version = views.version()
        index = read_index(self._store)
        if index is not None and is_current(index, views, version=version):
            return msgspec.structs.replace(index, version=version)
        index = rebuild_index(views, self._tables[StoreTable.RUNS])
        self._save(index)
        return index

    def _save(self, index: ResultIndex) -> None:
        try:
            write_index(self._store, index)
        except HeadraceError as error:  # it is rebuilt when it is needed
            _LOG.warning("%s: the newest results were not saved: %s", self.folder, error)

    def _has_marks_in_units(self) -> bool:
        """Return whether the table `units` has the form of an earlier release."""
        snapshot = self._tables[StoreTable.UNITS].snapshot()
        return snapshot is not None and bool(snapshot.partition_columns)

    def _marks_in_units(self, *, where: str | None = None) -> pa.Table:
        units = self._tables[StoreTable.UNITS].read(["date", "run", "source", "files"], where=where)
        return marks_in_units(units, self._tables[StoreTable.RUNS].read(["run", "started_ms"]))

    def _move_marks(self) -> None:
        """Move marks that earlier releases stored in `units` to the table `marks`."""
        if not self._has_marks_in_units():
            return
        marks = self._marks_in_units()
        if marks.num_rows:
            self._tables[StoreTable.MARKS].append(marks)
        self._tables[StoreTable.UNITS].unpartition()

    def _append(self, table: StoreTable, rows: list[dict[str, Any]]) -> int | None:
        if not rows:
            return None
        return self._tables[table].append(pa.Table.from_pylist(rows, schema=SCHEMAS[table]))

    def _rows_of_run(
        self, table: StoreTable, run: RunRecord, columns: list[str], *, view: str | None = None
    ) -> list[dict[str, Any]]:
        where = f"date = DATE '{day_of(run.started_ms)}' AND run = {literal(run.id)}"
        if view is not None:
            where += f" AND view = {literal(view)}"
        return list(self._tables[table].rows(columns, where=where))


def _supersede(runs: dict[str, RunRecord], record: RunRecord) -> None:
    """Keep the newest record of a run: of its latest attempt, preferably of its end."""
    previous = runs.get(record.id)
    if previous is None or _precedence(previous) <= _precedence(record):
        runs[record.id] = record


def _precedence(record: RunRecord) -> tuple[int, bool]:
    return record.started_ms, record.status is not RunStatus.RUNNING
