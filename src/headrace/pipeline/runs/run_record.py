"""The record of a run and of each of its views.

Records are plain values. They are made during a run, stored in the artifact store, and are all that
pages, comparisons and replays use.
"""

from enum import StrEnum

import msgspec

from headrace.errors import ReplayDiffersError, RunFailedError
from headrace.pipeline.bundle.cause import Cause
from headrace.pipeline.runs.row_digest import RowDigest


class RunKind(StrEnum):
    """The purpose of a run."""

    RUN = "run"
    REPLAY = "replay"
    VERIFICATION = "verification"


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """A view failed, or a replay returned other rows."""
    CANCELLED = "cancelled"
    """It was stopped; views that had finished keep their results."""
    INTERRUPTED = "interrupted"
    """Its process died."""


class ViewStatus(StrEnum):
    """The outcome of a view in a run."""

    RAN = "ran"
    SKIPPED = "skipped"
    """An earlier result is still valid; the reason says which."""
    INLINED = "inlined"
    """It was computed as part of the views that read it."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """A view that it reads failed."""
    LEFT_OUT = "left out"
    """It was not selected."""
    CANCELLED = "cancelled"


class OutputVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The version of a Delta table that has a view's rows."""

    uri: str
    version: int
    files: int
    size_bytes: int
    change_feed: bool = False
    commit_id: str | None = None
    """The id of the commit that made the version; None in records of older releases."""
    transaction: int | None = None
    """The version of the commit's transaction, which a checkpoint keeps after the commit is cleaned
    up; None in records of older releases."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a view failed."""

    code: str
    """The code of a Headrace error, or the class name of any other exception."""
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


class ViewRun(msgspec.Struct, frozen=True, kw_only=True):
    """One view in one run."""

    view: str
    status: ViewStatus
    reason: str
    """Why the view ran, was skipped, failed or was left out, in words."""
    causes: tuple[Cause, ...] = ()
    """What changed since its last successful run; empty for a skipped view."""
    started_ms: int | None = None
    duration_ms: int = 0
    digest: RowDigest | None = None
    """The digest of its rows; for a skipped view, of the earlier result."""
    skip_key: str | None = None
    plan_fingerprint: str = ""
    upstream_keys: dict[str, str] = {}
    """The skip key of the result that it read, by materialised upstream view."""
    output: OutputVersion | None = None
    result_of: str | None = None
    """The run that computed the current result; None if there is no result."""
    job_ids: tuple[int, ...] = ()
    """The ids of the Spark jobs of the view."""
    failure: Failure | None = None
    volatile: tuple[str, ...] = ()
    """Why the runner found the query not deterministic, beyond what planning detects."""
    warnings: tuple[str, ...] = ()
    """Problems that do not affect the result."""
    fallback: str | None = None
    """Why its SQL was run instead of its stored plan; None if the plan was run."""

    @property
    def stands(self) -> bool:
        """Whether the view has a valid result, new or old."""
        return self.status in {ViewStatus.RAN, ViewStatus.SKIPPED}

    @property
    def rows(self) -> int | None:
        """The number of rows of the result; None if there is none."""
        return None if self.digest is None else self.digest.rows


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a project."""

    id: str
    """Ids sort by start time."""
    kind: RunKind
    project: str
    bundle: str
    """The id of the bundle that was run."""
    engine: str
    """The runner and its version, such as `spark 4.3.0`."""
    status: RunStatus
    started_ms: int
    finished_ms: int | None = None
    profile: str = "default"
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    """The variables that the caller changed."""
    pins: dict[str, int] = {}
    """The version that was read of each source that has versions."""
    environment: dict[str, str] = {}
    """Versions of Python, packages and the machine."""
    replay_of: str | None = None
    views: dict[str, ViewRun] = {}
    """The views by name, in the bundle's order."""

    @property
    def duration_ms(self) -> int | None:
        """The duration; None while the run is in progress, or if it was interrupted."""
        return None if self.finished_ms is None else self.finished_ms - self.started_ms

    def check(self) -> None:
        """Raise if a view failed.

        Raises:
            RunFailedError, ReplayDiffersError: at least one view failed.
        """
        failed = [view for view in self.views.values() if view.status is ViewStatus.FAILED]
        if failed and self.kind is not RunKind.RUN:
            differences = [f"view {view.view}: {view.reason}" for view in failed]
            raise ReplayDiffersError(run=self.replay_of or self.id, differences=differences)
        if failed:
            failures = [f"view {view.view}: {view.failure or view.reason}" for view in failed]
            raise RunFailedError(run=self.id, failures=failures)

    @property
    def fallbacks(self) -> dict[str, str]:
        """Why the stored plan of a view was not run, by view."""
        return {v.view: v.fallback for v in self.views.values() if v.fallback is not None}

    def count(self, status: ViewStatus) -> int:
        """Return the number of views with a status."""
        return sum(view.status is status for view in self.views.values())
