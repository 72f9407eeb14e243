"""What is known of a run: the record of the whole, and of each view.

Records are plain values. They are made while a run goes on, kept in the artifact store, and are
all that pages, comparisons and replays look at.
"""

from enum import StrEnum

import msgspec

from headrace.errors import ReplayDiffersError, RunFailedError
from headrace.pipeline.bundle.cause import Cause
from headrace.pipeline.runs.digest import RowDigest


class RunKind(StrEnum):
    """What a run is for."""

    RUN = "run"
    REPLAY = "replay"
    VERIFICATION = "verification"


class RunStatus(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """A view failed, or a replay gave something else."""
    CANCELLED = "cancelled"
    """Someone stopped it; what was finished by then stands."""
    INTERRUPTED = "interrupted"
    """Its process ended without a word."""


class ViewStatus(StrEnum):
    """What became of a view in a run."""

    RAN = "ran"
    SKIPPED = "skipped"
    """An earlier result stands; the reason says which."""
    INLINED = "inlined"
    """Nothing of its own: whoever reads it computed it."""
    FAILED = "failed"
    BLOCKED = "blocked"
    """Something that it reads failed."""
    LEFT_OUT = "left out"
    """The selection does not have it."""
    CANCELLED = "cancelled"


class OutputVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The version of a Delta table that a view's rows were committed as."""

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
    """Of a Headrace error, or the class of the engine's."""
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


class ViewRun(msgspec.Struct, frozen=True, kw_only=True):
    """One view in one run."""

    view: str
    status: ViewStatus
    reason: str
    """In words: why it ran, was skipped, failed or was left out."""
    causes: tuple[Cause, ...] = ()
    """What changed since its last good run; empty for a view that was skipped."""
    started_ms: int | None = None
    duration_ms: int = 0
    digest: RowDigest | None = None
    """Of the rows that its query gave; of a skipped view, that of the result which stands."""
    skip_key: str | None = None
    plan_fingerprint: str = ""
    upstream_keys: dict[str, str] = {}
    """By materialised view that it read, the skip key of the result that it read."""
    output: OutputVersion | None = None
    result_of: str | None = None
    """The run that made the result which stands; None if none does."""
    job_ids: tuple[int, ...] = ()
    """The jobs that Spark ran for it."""
    failure: Failure | None = None
    volatile: tuple[str, ...] = ()
    """Why the engine calls the query non-deterministic, which planning could not tell."""
    warnings: tuple[str, ...] = ()
    """What went wrong without harm to the result."""
    fallback: str | None = None
    """Why its SQL was run in place of its stored plan; None if the plan was run."""

    @property
    def stands(self) -> bool:
        """Whether the view has a result, new or old."""
        return self.status in {ViewStatus.RAN, ViewStatus.SKIPPED}

    @property
    def rows(self) -> int | None:
        """How many rows its query gave."""
        return None if self.digest is None else self.digest.rows


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a project."""

    id: str
    """Sorts by time."""
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
    """The changes that the caller made to the project's variables."""
    pins: dict[str, int] = {}
    """By source, the version that was read; a source without versions is left out."""
    environment: dict[str, str] = {}
    """Versions of Python, packages and the machine."""
    replay_of: str | None = None
    views: dict[str, ViewRun] = {}
    """By name, in the order of the bundle."""

    @property
    def duration_ms(self) -> int | None:
        """How long it took; None while it runs, or if nobody knows."""
        return None if self.finished_ms is None else self.finished_ms - self.started_ms

    def check(self) -> None:
        """Raise if a view failed.

        Raises:
            RunFailedError, ReplayDiffersError: one did.
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
        """By view whose stored plan was not run, the reason."""
        return {v.view: v.fallback for v in self.views.values() if v.fallback is not None}

    def count(self, status: ViewStatus) -> int:
        """How many views stand so."""
        return sum(view.status is status for view in self.views.values())
