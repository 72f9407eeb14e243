"""What a runner is asked, and what it answers: one view at a time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.view import Builder
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.row_digest import RowDigest
from headrace.pipeline.sources.source import PinnedSource
from headrace.table import Snapshot


class TableResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a view as a version of a Delta table."""

    uri: str
    version: int


class KeptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a view as the runner keeps it in memory."""

    name: str


Upstream: TypeAlias = TableResult | KeptResult


class ViewTask(msgspec.Struct, frozen=True, kw_only=True):
    """One view to be computed."""

    plan: ViewPlan
    inlined: tuple[ViewPlan, ...]
    """The views that are computed as part of it, each behind what it reads."""
    upstream: dict[str, Upstream]
    """By view: the result that is read."""
    planned: dict[str, pa.Schema]
    """By view that is read: its columns as they were planned, where they were."""
    folder: Path | None
    """Where its rows are written as Parquet files; None: they are kept in memory."""
    partition_by: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    """The columns that rows are written in order of, nulls first; empty: as they come."""
    analyse: bool = False
    """Whether to tell what each part of the physical plan did."""


class ViewResult(msgspec.Struct, frozen=True, kw_only=True):
    """A view that was computed."""

    schema: pa.Schema
    digest: RowDigest
    plans: dict[PlanStage, str]
    job_ids: tuple[int, ...] = ()
    volatile: tuple[str, ...] = ()
    """Why the engine calls the query non-deterministic; its result has no skip key then."""
    fallback: str | None = None
    """Why the stored plan was not run, but the SQL that it was made from; None if it was."""


class RunnerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all views of a run have in common."""

    run: str
    sources: Mapping[str, PinnedSource]
    catalog: Catalog
    settings: Settings
    profile: Profile
    builders: Mapping[str, Builder]


class Runner(Protocol):
    """Computes views on an engine; several threads may ask at once."""

    def compute(self, task: ViewTask) -> ViewResult:
        """Compute a view, and write or keep its rows.

        Raises:
            HeadraceError: what the view reads is not there, or not what it was.
            Exception: whatever the engine says of a query that fails.
        """

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        """Work out how the rows of a view change its table when they are merged by their keys.

        Nothing is committed. Where another writer is first, it is asked again with the table as
        it stands then; `snapshot` is None where there is no table yet.

        Raises:
            InvalidResultError: keys do not identify the rows.
        """

    def release(self, name: str) -> None:
        """Let go of a result that is kept in memory."""

    def progress(self, view: str) -> tuple[int, int]:
        """How many tasks of a view are done, and how many there are; (0, 0) if it is not known."""

    def cancel(self) -> None:
        """Stop everything that is going on; what is asked afterwards fails."""

    def close(self) -> None:
        """Let go of everything."""


class NoRunner:
    """What a run without views that run is given: no engine is started for it."""

    def compute(self, task: ViewTask) -> ViewResult:
        """Nobody asks."""
        raise AssertionError(f"no view runs, and yet {task.plan.name} does")

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:  # noqa: ARG002
        """Nobody asks."""
        raise AssertionError(f"no view runs, and yet {write.note.view} does")

    def release(self, name: str) -> None:
        """Nothing is kept."""

    def progress(self, view: str) -> tuple[int, int]:  # noqa: ARG002
        """Nothing goes on."""
        return 0, 0

    def cancel(self) -> None:
        """Nothing goes on."""

    def close(self) -> None:
        """Nothing is held."""


def promised_types(contract: Contract | None, schema: pa.Schema) -> dict[str, pa.DataType]:
    """By column, the decimal type that a contract promises where the engine gives another.

    The engines differ in the precision of computed decimals; the contract decides.
    """
    if contract is None:
        return {}
    fields = {field.name.casefold(): field for field in schema}
    wanted = {column.name.casefold(): column.arrow_type for column in contract.columns}
    return {
        field.name: wanted[name]
        for name, field in fields.items()
        if name in wanted
        and pa.types.is_decimal(wanted[name])
        and pa.types.is_decimal(field.type)
        and wanted[name] != field.type
    }
