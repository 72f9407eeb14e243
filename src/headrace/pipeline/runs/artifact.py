"""The tables of the artifact store: their schemas, and the conversion of records to rows.

Each row has the columns to filter by, the date on which the run started, and the whole record as
JSON.
"""

import time
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.runs.file_mark import MARKS
from headrace.pipeline.runs.run_record import RunRecord, ViewRun


class StoreTable(StrEnum):
    """The tables of an artifact store."""

    RUNS = "runs"
    """One row when a run starts and one when it ends; the newer one is valid."""
    VIEWS = "views"
    BUNDLES = "bundles"
    """Read only: earlier releases stored bundles here."""
    UNITS = "units"
    """The scan units of views. Earlier releases also stored marks here."""
    MARKS = "marks"
    """One row for each marked file, by the run that first read it in this state."""
    PLANS = "plans"


class PlanStage(StrEnum):
    """The stages of a runner's query plan."""

    SQL = "sql"
    """The SQL that was run."""
    LOGICAL = "logical"
    OPTIMISED = "optimised"
    PHYSICAL = "physical"
    ANALYSED = "analysed"
    """The physical plan with metrics; recorded only on request."""


_FILE = pa.struct(
    [
        ("path", pa.string()),
        ("dv_id", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ns", pa.int64()),
        ("content", pa.string()),
    ]
)

SCHEMAS: dict[StoreTable, pa.Schema] = {
    StoreTable.RUNS: pa.schema(
        [
            ("date", pa.date32()),
            ("run", pa.string()),
            ("kind", pa.string()),
            ("project", pa.string()),
            ("bundle", pa.string()),
            ("engine", pa.string()),
            ("status", pa.string()),
            ("started_ms", pa.int64()),
            ("finished_ms", pa.int64()),
            ("record", pa.string()),
        ]
    ),
    StoreTable.VIEWS: pa.schema(
        [
            ("date", pa.date32()),
            ("run", pa.string()),
            ("view", pa.string()),
            ("status", pa.string()),
            ("reason", pa.string()),
            ("started_ms", pa.int64()),
            ("duration_ms", pa.int64()),
            ("rows", pa.int64()),
            ("rows_digest", pa.string()),
            ("skip_key", pa.string()),
            ("plan_fingerprint", pa.string()),
            ("output_version", pa.int64()),
            ("job_ids", pa.list_(pa.int64())),
            ("error", pa.string()),
            ("record", pa.string()),
            ("recorded_ms", pa.int64()),
        ]
    ),
    StoreTable.BUNDLES: pa.schema(
        [
            ("date", pa.date32()),
            ("bundle", pa.string()),
            ("engine", pa.string()),
            ("planner", pa.string()),
            ("content", pa.binary()),
        ]
    ),
    StoreTable.UNITS: pa.schema(
        [
            ("date", pa.date32()),
            ("run", pa.string()),
            ("view", pa.string()),
            ("source", pa.string()),
            ("version", pa.int64()),
            ("where", pa.string()),
            ("columns", pa.list_(pa.string())),
            ("files_total", pa.int64()),
            ("files_kept", pa.int64()),
            ("bytes_kept", pa.int64()),
            ("digest", pa.string()),
            ("files", pa.list_(_FILE)),
        ]
    ),
    StoreTable.MARKS: pa.schema(
        [
            ("date", pa.date32()),
            ("run", pa.string()),
            ("started_ms", pa.int64()),
            *((field.name, field.type) for field in MARKS),
        ]
    ),
    StoreTable.PLANS: pa.schema(
        [
            ("date", pa.date32()),
            ("run", pa.string()),
            ("view", pa.string()),
            ("stage", pa.string()),
            ("text", pa.string()),
        ]
    ),
}


def day_of(started_ms: int) -> date:
    """Return the date of a run, in UTC."""
    return datetime.fromtimestamp(started_ms / 1000, tz=UTC).date()


def run_row(record: RunRecord) -> dict[str, Any]:
    """Return a run as a row, without its views."""
    return {
        "date": day_of(record.started_ms),
        "run": record.id,
        "kind": record.kind.value,
        "project": record.project,
        "bundle": record.bundle,
        "engine": record.engine,
        "status": record.status.value,
        "started_ms": record.started_ms,
        "finished_ms": record.finished_ms,
        "record": _json(msgspec.structs.replace(record, views={})),
    }


def view_row(run: RunRecord, view: ViewRun) -> dict[str, Any]:
    """Return a view of a run as a row."""
    return {
        "date": day_of(run.started_ms),
        "run": run.id,
        "view": view.view,
        "status": view.status.value,
        "reason": view.reason,
        "started_ms": view.started_ms,
        "duration_ms": view.duration_ms,
        "rows": view.rows,
        "rows_digest": None if view.digest is None else view.digest.rows_digest,
        "skip_key": view.skip_key,
        "plan_fingerprint": view.plan_fingerprint,
        "output_version": None if view.output is None else view.output.version,
        "job_ids": list(view.job_ids),
        "error": None if view.failure is None else view.failure.text,
        "record": _json(view),
        "recorded_ms": time.time_ns() // 1_000_000,
    }


def unit_rows(run: RunRecord, bundle: Bundle, view: str) -> list[dict[str, Any]]:
    """Return the scan units of a view as rows."""
    return [
        {
            "date": day_of(run.started_ms),
            "run": run.id,
            "view": view,
            "source": unit.source,
            "version": unit.version,
            "where": unit.where,
            "columns": list(unit.columns),
            "files_total": unit.files_total,
            "files_kept": unit.files_kept,
            "bytes_kept": unit.bytes_kept,
            "digest": unit.digest,
        }
        for unit in bundle[view].units
    ]


def mark_rows(run: RunRecord, marks: pa.Table) -> pa.Table:
    """Return marks as rows of the run that made them."""
    day, run_id, started = (
        pa.repeat(pa.scalar(value, kind), marks.num_rows)
        for value, kind in (
            (day_of(run.started_ms), pa.date32()),
            (run.id, pa.string()),
            (run.started_ms, pa.int64()),
        )
    )
    columns = [day, run_id, started, *marks.select(MARKS.names).columns]
    return pa.Table.from_arrays(columns, schema=SCHEMAS[StoreTable.MARKS])


def marks_in_units(units: pa.Table, runs: pa.Table) -> pa.Table:
    """Convert marks that earlier releases stored in `units` to rows of the table `marks`.

    Args:
        units: The columns `date`, `run`, `source` and `files`.
        runs: The columns `run` and `started_ms`, for the times of the marks.
    """
    units = units.combine_chunks()
    files = pa.chunked_array(units["files"]).combine_chunks()
    parent = pc.list_parent_indices(files)
    marks = files.flatten()
    run_index = pc.index_in(units["run"].combine_chunks(), value_set=runs["run"].combine_chunks())
    started = runs["started_ms"].combine_chunks().take(run_index)
    fields = dict(zip((f.name for f in marks.type), marks.flatten(), strict=True))
    columns = {
        "date": units["date"].combine_chunks().take(parent),
        "run": units["run"].combine_chunks().take(parent),
        "started_ms": started.take(parent),
        "source": units["source"].combine_chunks().take(parent),
        **fields,
    }
    return pa.table(columns, schema=SCHEMAS[StoreTable.MARKS])


def plan_rows(run: RunRecord, view: str, plans: Mapping[PlanStage, str]) -> list[dict[str, Any]]:
    """Return the query plans of a view as rows."""
    common = {"date": day_of(run.started_ms), "run": run.id, "view": view}
    return [{**common, "stage": stage.value, "text": text} for stage, text in plans.items()]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
