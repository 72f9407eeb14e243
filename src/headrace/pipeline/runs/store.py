"""The artifact store: what runs were and did, in Delta tables below a project's state folder.

It is written by appends only, and read by Headrace itself.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

from headrace.errors import RunNotFoundError, TableNotFoundError
from headrace.pipeline.bundle.bundle import Bundle, decode_bundle
from headrace.pipeline.runs.artifact import (
    SCHEMAS,
    PlanStage,
    StoreTable,
    bundle_row,
    day_of,
    plan_rows,
    run_row,
    unit_rows,
    view_row,
)
from headrace.pipeline.runs.file_mark import FileMark
from headrace.pipeline.runs.record import RunKind, RunRecord, RunStatus, ViewRun
from headrace.table import Snapshot, Table

LATEST = "latest"
STORE = "store"
"""The folder of the store below the state folder of a project."""


class ArtifactStore:
    """The records of a project's runs."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made when something is first written."""
        self.folder = folder

    def add_run(self, record: RunRecord) -> None:
        """Remember how a run stands; what was said of it before is superseded."""
        self._append(StoreTable.RUNS, [run_row(record)])

    def add_bundle(self, record: RunRecord, bundle: Bundle) -> None:
        """Remember a bundle, if it is not known yet."""
        if self._first(StoreTable.BUNDLES, f"bundle = '{bundle.id}'", ["bundle"]) is None:
            self._append(StoreTable.BUNDLES, [bundle_row(record, bundle)])

    def add_views(self, record: RunRecord, views: Sequence[ViewRun]) -> None:
        """Remember what became of views."""
        self._append(StoreTable.VIEWS, [view_row(record, view) for view in views])

    def add_units(
        self,
        record: RunRecord,
        bundle: Bundle,
        marks: dict[str, dict[str, tuple[FileMark, ...]]],
    ) -> None:
        """Remember what views read: by view and source, the marks of its files."""
        rows = [row for view in marks for row in unit_rows(record, bundle, view, marks[view])]
        self._append(StoreTable.UNITS, rows)

    def add_plans(self, record: RunRecord, plans: dict[str, dict[PlanStage, str]]) -> None:
        """Remember what an engine made of views."""
        rows = [row for view, found in plans.items() for row in plan_rows(record, view, found)]
        self._append(StoreTable.PLANS, rows)

    def runs(self, *, limit: int | None = None) -> list[RunRecord]:
        """The runs, newest first, without their views."""
        found: dict[str, RunRecord] = {}
        for day in self._days(StoreTable.RUNS):
            for row in self._rows(StoreTable.RUNS, f"date = '{day}'", ["record"]):
                _supersede(found, msgspec.json.decode(row["record"], type=RunRecord))
            if limit is not None and len(found) >= limit:
                break
        newest_first = sorted(found.values(), key=lambda run: (run.started_ms, run.id))[::-1]
        return newest_first[:limit]

    def find(self, run: str) -> RunRecord:
        """A run with its views: by id, by the beginning of it, or `latest`.

        Raises:
            RunNotFoundError: there is none, or more than one.
        """
        every = self.runs(limit=1 if run == LATEST else None)
        matching = every if run == LATEST else [known for known in every if known.id == run]
        matching = matching or [known for known in every if run and known.id.startswith(run)]
        if len(matching) != 1:
            raise RunNotFoundError(run=run, similar=[known.id for known in matching or every][:5])
        record = matching[0]
        views = {
            view.view: view
            for row in self._of_run(StoreTable.VIEWS, record, ["record"])
            for view in [msgspec.json.decode(row["record"], type=ViewRun)]
        }
        order = self.bundle(record.bundle).order
        in_order = {name: views[name] for name in order if name in views}
        return msgspec.structs.replace(record, views=in_order)

    def bundle(self, bundle: str) -> Bundle:
        """A bundle by its id.

        Raises:
            RunNotFoundError: it is not known.
            BundleDamagedError: it is not what its id stands for.
        """
        row = self._first(StoreTable.BUNDLES, f"bundle = '{bundle}'", ["content"])
        if row is None:
            raise RunNotFoundError(run=f"bundle {bundle}", similar=[])
        return decode_bundle(row["content"])

    def plans(self, record: RunRecord, view: str) -> dict[PlanStage, str]:
        """What the engine made of a view."""
        rows = self._of_run(StoreTable.PLANS, record, ["stage", "text"], view=view)
        return {PlanStage(row["stage"]): row["text"] for row in rows}

    def marks(self, record: RunRecord) -> dict[str, dict[str, tuple[FileMark, ...]]]:
        """By view and source, the marks of the files that a run read."""
        found: dict[str, dict[str, tuple[FileMark, ...]]] = {}
        for row in self._of_run(StoreTable.UNITS, record, ["view", "source", "files"]):
            marks = tuple(FileMark(**mark) for mark in row["files"] or ())
            found.setdefault(row["view"], {})[row["source"]] = marks
        return found

    def last_results(self, views: Collection[str]) -> dict[str, tuple[str, ViewRun]]:
        """By view, the newest run in which it had a result, and what is known of it there."""
        age = {run.id: n for n, run in enumerate(self.runs()) if run.kind is RunKind.RUN}
        found: dict[str, tuple[str, ViewRun]] = {}
        for day in self._days(StoreTable.VIEWS):
            rows = list(self._rows(StoreTable.VIEWS, f"date = '{day}'", ["run", "record"]))
            known = [row for row in rows if row["run"] in age]
            for row in sorted(known, key=lambda row: age[row["run"]]):
                view = msgspec.json.decode(row["record"], type=ViewRun)
                if view.stands and view.view in views:
                    found.setdefault(view.view, (row["run"], view))
            if len(found) == len(views):
                break
        return found

    def histories(self, runs_newest_first: Sequence[RunRecord]) -> dict[str, list[ViewRun | None]]:
        """By view, what became of it in each of the runs."""
        place = {run.id: number for number, run in enumerate(runs_newest_first)}
        found: dict[str, list[ViewRun | None]] = {}
        for day in sorted({day_of(run.started_ms) for run in runs_newest_first}):
            for row in self._rows(StoreTable.VIEWS, f"date = '{day}'", ["run", "record"]):
                if row["run"] in place:
                    view = msgspec.json.decode(row["record"], type=ViewRun)
                    known = found.setdefault(view.view, [None] * len(place))
                    known[place[row["run"]]] = view
        return found

    def _append(self, table: StoreTable, rows: list[dict[str, Any]]) -> None:
        if rows:
            write_deltalake(
                self.folder / table,
                pa.Table.from_pylist(rows, schema=SCHEMAS[table]),
                mode="append",
                partition_by=["date"],
                writer_properties=WriterProperties(compression="ZSTD"),
            )

    def _snapshot(self, table: StoreTable) -> Snapshot | None:
        try:
            return Table(self.folder / table).snapshot()
        except TableNotFoundError:
            return None

    def _days(self, table: StoreTable) -> list[str]:
        """The partitions, newest first."""
        snapshot = self._snapshot(table)
        if snapshot is None:
            return []
        return sorted({str(file.partition_values["date"]) for file in snapshot.scan()})[::-1]

    def _rows(self, table: StoreTable, where: str, columns: list[str]) -> Iterator[dict[str, Any]]:
        snapshot = self._snapshot(table)
        if snapshot is not None:
            with snapshot.rows(where=where, columns=columns) as reader:
                for batch in reader:
                    yield from batch.to_pylist()

    def _of_run(
        self, table: StoreTable, run: RunRecord, columns: list[str], *, view: str | None = None
    ) -> Iterator[dict[str, Any]]:
        where = f"date = '{day_of(run.started_ms)}' AND run = '{run.id}'"
        return self._rows(table, where if view is None else f"{where} AND view = '{view}'", columns)

    def _first(self, table: StoreTable, where: str, columns: list[str]) -> dict[str, Any] | None:
        return next(self._rows(table, where, columns), None)


def _supersede(found: dict[str, RunRecord], record: RunRecord) -> None:
    """Keep the last word on a run: that it ended counts more than that it began."""
    known = found.get(record.id)
    if known is None or known.status is RunStatus.RUNNING:
        found[record.id] = record
