"""Runs a single phase of a replay, for workers and for callers that step phases by hand.

A scan runs its phases together and reports one event for all of them. Here each phase has its own
counts and its own event. A coordinator sums the counts of its workers (`Counts.add`), but neither
the size of the seen set, which they share, nor the time, since they run in parallel.
"""

from collections.abc import Generator, Iterator
from typing import Any, Self, TypeAlias

from headrace.errors import PhaseUnfinishedError
from headrace.metrics.counts import Counts
from headrace.metrics.event import LogReplayCompleted, ReplayPhase
from headrace.metrics.meter import Meter
from headrace.metrics.reporter import Reporter, log_event
from headrace.phases.phase import Parallel, PartialResult, Phase
from headrace.phases.scan import CheckpointReplay, CommitReplay
from headrace.phases.share import LeafShare
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.plan.executor import Executor
from headrace.scan.run import stream_phase

Replay: TypeAlias = CommitReplay | CheckpointReplay | LeafShare
"""The phases that return files: commits, a checkpoint or its sidecars, a worker's share."""


class PhaseRun:
    """A running phase. Iterate it for batches; `next_phase` is available at the end.

    When the batches end, fail or are closed, one `LogReplayCompleted` for this phase is
    reported.
    """

    def __init__(
        self,
        phase: Replay,
        *,
        executor: Executor,
        reporter: Reporter = log_event,
        settings: ExecutionSettings | None = None,
    ) -> None:
        """Prepare to run one phase; nothing is read.

        Args:
            phase: The phase to run.
            executor: Executes its plans.
            reporter: Receives the event.
            settings: How the executor reads.
        """
        self.phase = phase
        self.meter = Meter()
        context = ExecutionContext(settings=settings or ExecutionSettings(), meter=self.meter)
        self._context = context
        self._executor = executor.bound(context)
        self._reporter = reporter
        self._next: Phase[Any] | None = None
        self._batches = self._drive()

    @property
    def counts(self) -> Counts:
        """The counts of this phase so far."""
        return self.meter.counts

    @property
    def next_phase(self) -> Phase[Any]:
        """The next phase; a fallback if the plan could not be executed.

        Raises:
            PhaseUnfinishedError: there are more batches.
        """
        if self._next is None:
            raise PhaseUnfinishedError(phase=type(self.phase).__name__)
        return self._next

    def close(self) -> None:
        """Stop reading, and close everything that is open."""
        self._batches.close()
        self._end()

    def __iter__(self) -> Iterator[ActionBatch]:
        return self

    def __next__(self) -> ActionBatch:
        batch = next(self._batches)
        self.meter.count_emitted(len(batch))
        return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _drive(self) -> Generator[ActionBatch, None, None]:
        phase: PartialResult[Any] = self.phase
        try:
            self._next = yield from stream_phase(
                phase, executor=self._executor, cancellation=self._context.cancellation
            )
        finally:
            self._executor.finish()
            self._end()

    def _end(self) -> None:
        if self.meter.end():
            self._reporter(self._completed())

    def _completed(self) -> LogReplayCompleted:
        is_parallel = isinstance(self.phase, Parallel)
        return LogReplayCompleted(
            table=self.phase.request.table,
            version=self.phase.request.version,
            phase=ReplayPhase.PARALLEL if is_parallel else ReplayPhase.SEQUENTIAL,
            duration_ns=self.meter.duration_ns,
            time_to_first_file_ns=self.meter.time_to_first_file_ns,
            dedup_hashmap_size=len(self.phase.seen),
            counts=self.counts,
        )
