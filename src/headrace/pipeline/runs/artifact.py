"""The tables of the artifact store: their columns, and records as rows of them.

Each row has the columns that people filter by, and the whole record as JSON beside them. All are
partitioned by the date on which the run started.
"""

from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

import msgspec
import pyarrow as pa

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.runs.file_mark import FileMark
from headrace.pipeline.runs.record import RunRecord, ViewRun


class StoreTable(StrEnum):
    """The tables of a store."""

    RUNS = "runs"
    """When a run starts and when it ends a row each; the newer one counts."""
    VIEWS = "views"
    BUNDLES = "bundles"
    UNITS = "units"
    PLANS = "plans"


class PlanStage(StrEnum):
    """What an engine made of a view, step by step."""

    SQL = "sql"
    """The text that the engine was given."""
    LOGICAL = "logical"
    OPTIMISED = "optimised"
    PHYSICAL = "physical"
    ANALYSED = "analysed"
    """The physical plan with what each part of it did; made only on request."""


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
    """The partition of a run."""
    return datetime.fromtimestamp(started_ms / 1000, tz=UTC).date()


def run_row(record: RunRecord) -> dict[str, Any]:
    """A run as a row; its views have a table of their own."""
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
    """A view of a run as a row."""
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
    }


def bundle_row(run: RunRecord, bundle: Bundle) -> dict[str, Any]:
    """A bundle as a row."""
    return {
        "date": day_of(run.started_ms),
        "bundle": bundle.id,
        "engine": bundle.engine,
        "planner": bundle.planner,
        "content": bundle.encode(),
    }


def unit_rows(
    run: RunRecord, bundle: Bundle, view: str, marks: dict[str, tuple[FileMark, ...]]
) -> list[dict[str, Any]]:
    """What a view read of each source, with a mark of each file."""
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
            "files": [msgspec.structs.asdict(mark) for mark in marks.get(unit.source, ())],
        }
        for unit in bundle[view].units
    ]


def plan_rows(run: RunRecord, view: str, plans: dict[PlanStage, str]) -> list[dict[str, Any]]:
    """What an engine made of a view."""
    common = {"date": day_of(run.started_ms), "run": run.id, "view": view}
    return [{**common, "stage": stage.value, "text": text} for stage, text in plans.items()]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
