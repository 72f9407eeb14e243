"""The interface between runs and runners: a task for one view enters, its result leaves."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.place import Place
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.project.view import Builder
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.row_digest import RowDigest
from headrace.pipeline.sources.source import PinnedSource
from headrace.table import Snapshot


class TableResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a view as a version of a Delta table."""

    table: Place
    version: int


class KeptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a view that the runner keeps in memory."""

    name: str


Upstream: TypeAlias = TableResult | KeptResult


class ViewTask(msgspec.Struct, frozen=True, kw_only=True):
    """One view to compute."""

    plan: ViewPlan
    inlined: tuple[ViewPlan, ...]
    """The views that are computed as part of it, each after the views that it reads."""
    upstream: dict[str, Upstream]
    """The result of each upstream view, to read from."""
    planned: dict[str, pa.Schema]
    """The planned columns of each upstream view that has a plan."""
    folder: Place | None
    """Where its rows are written as Parquet files; None to keep them in memory."""
    partition_by: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    """The columns to sort the written rows by, nulls first; empty for any order."""
    analyse: bool = False
    """Whether to record the metrics of the physical plan."""


class ViewResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of computing a view."""

    schema: pa.Schema
    digest: RowDigest
    plans: dict[PlanStage, str]
    job_ids: tuple[int, ...] = ()
    volatile: tuple[str, ...] = ()
    """Why the query is not deterministic; the result then has no skip key."""
    fallback: str | None = None
    """Why the SQL was run instead of the stored plan; None if the plan was run."""


class RunnerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all views of a run share."""

    run: str
    sources: Mapping[str, PinnedSource]
    catalog: Catalog
    settings: Settings
    profile: Profile
    builders: Mapping[str, Builder]


class Runner(Protocol):
    """Computes views. It is thread-safe."""

    def compute(self, task: ViewTask) -> ViewResult:
        """Compute a view, and write its rows or keep them in memory.

        Raises:
            HeadraceError: something that the view reads is missing or has changed.
            Exception: any error of Spark or DataFusion.
        """

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        """Compute how merging the rows of a view by their keys changes its table.

        Nothing is committed. If another writer commits first, the method is called again with the
        new snapshot; `snapshot` is None if there is no table yet.

        Raises:
            InvalidResultError: the keys do not identify rows.
        """

    def release(self, name: str) -> None:
        """Release a result that is kept in memory."""

    def progress(self, view: str) -> tuple[int, int]:
        """Return the numbers of finished and all tasks of a view; (0, 0) if unknown."""

    def cancel(self) -> None:
        """Stop all work; later calls fail."""

    def close(self) -> None:
        """Release all resources."""


class NoRunner:
    """The runner of a run that computes no view; it starts nothing."""

    def compute(self, task: ViewTask) -> ViewResult:
        """Fail: no view runs."""
        raise AssertionError(f"{task.plan.name} runs in a run without views")

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:  # noqa: ARG002
        """Fail: no view runs."""
        raise AssertionError(f"{write.note.view} runs in a run without views")

    def release(self, name: str) -> None:
        """Do nothing."""

    def progress(self, view: str) -> tuple[int, int]:  # noqa: ARG002
        """Return (0, 0)."""
        return 0, 0

    def cancel(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def promised_types(contract: Contract | None, schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the decimal types that a contract promises where the result has others, by column.

    Runners differ in the precision of computed decimals; the contract decides.
    """
    if contract is None:
        return {}
    fields = {field.name.casefold(): field for field in schema}
    promised = {column.name.casefold(): column.arrow_type for column in contract.columns}
    return {
        field.name: promised[name]
        for name, field in fields.items()
        if name in promised
        and pa.types.is_decimal(promised[name])
        and pa.types.is_decimal(field.type)
        and promised[name] != field.type
    }
