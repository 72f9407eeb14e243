"""The driver: an iterator that runs phases on an executor.

It yields the batches of partial results as they are produced, runs consuming phases internally,
holds the terminal value at the end, and can be closed at any point.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Generic, Self, TypeVar

from headrace.errors import HeadraceError, NotTerminalError
from headrace.metrics.event import (
    CheckpointAbandoned,
    CompactionAbandoned,
    Event,
    FellBack,
    StateAbandoned,
)
from headrace.metrics.reporter import Reporter, log_event
from headrace.phases.phase import Consume, Parallel, PartialResult, Phase, Terminus
from headrace.plan.batch import ActionBatch, Batch
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor

T = TypeVar("T")

_FALLBACKS = (CheckpointAbandoned, CompactionAbandoned, FellBack, StateAbandoned)


class Run(Generic[T]):
    """A sequence of running phases. Iterate it for batches; `terminal` is available at the end."""

    def __init__(
        self,
        phase: Phase[T],
        *,
        executor: Executor,
        reporter: Reporter = log_event,
        context: ExecutionContext | None = None,
        completed: Callable[[], Iterable[Event]] | None = None,
    ) -> None:
        """Prepare to run phases; nothing is read.

        Args:
            phase: The first phase.
            executor: Executes the plans.
            reporter: Receives the events of the phases.
            context: The settings, the meter and the cancellation.
            completed: Returns the events to report once this has ended or was closed. Without
                it the caller counts, and stops the meter's clock.
        """
        self._is_bound = context is not None
        self._executor = executor if context is None else executor.bound(context)
        context = context or ExecutionContext()
        self.meter = context.meter
        self.cancellation = context.cancellation
        self._reporter = reporter
        self._completed = completed
        self._phase = phase
        self._batches = self._drive()

    @property
    def phase(self) -> Phase[T]:
        """The current phase."""
        return self._phase

    @property
    def terminal(self) -> T:
        """The result of the last phase.

        Raises:
            NotTerminalError: the last phase has not been reached.
        """
        if isinstance(self._phase, Terminus):
            return self._phase.value
        raise NotTerminalError(phase=type(self._phase).__name__)

    def run_to_terminal(self) -> T:
        """Run to the end, discard the batches, and return the terminal value."""
        for _ in self:
            pass
        return self.terminal

    def collect(self) -> tuple[list[ActionBatch], T]:
        """Run to the end, and return the batches and the terminal value."""
        batches = list(self)
        return batches, self.terminal

    def close(self) -> None:
        """Stop reading, and close everything that is open."""
        self._batches.close()
        self._end()

    def __iter__(self) -> Iterator[ActionBatch]:
        return self

    def __next__(self) -> ActionBatch:
        batch = next(self._batches)
        if self._completed is not None:
            self.meter.count_emitted(len(batch))
        return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _drive(self) -> Generator[ActionBatch, None, None]:
        self._report()
        try:
            while not isinstance(self._phase, Terminus):
                phase = self._phase
                if isinstance(phase, Consume):
                    self._phase = self._consume(phase)
                else:
                    self._phase = yield from stream_phase(
                        phase, executor=self._executor, cancellation=self.cancellation
                    )
                self._report()
        finally:
            if self._is_bound:  # otherwise the caller may still use the engine
                self._executor.finish()
        self._end()

    def _consume(self, phase: Consume[T]) -> Phase[T]:
        try:
            self._executor.begin(phase.plan())
            self._executor.expect(phase.expects())
            data = list(self.cancellation.watched(self._executor.execute(phase.plan())))
        except HeadraceError as error:
            return phase.failed(error)
        return phase.next(data)

    def _report(self) -> None:
        for event in self._phase.events:
            if isinstance(event, _FALLBACKS):
                self.meter.count(fallbacks=1)
            if isinstance(event, FellBack):
                self.meter.fell_back = event.reason
            self._reporter(event)

    def _end(self) -> None:
        if self._completed is not None and self.meter.end():
            for event in self._completed():
                self._reporter(event)


def stream_phase(
    phase: PartialResult[T], *, executor: Executor, cancellation: Cancellation
) -> Generator[ActionBatch, None, Phase[T]]:
    """Yield the non-empty batches of a phase, and return the next phase.

    Raises:
        Cancelled: cancellation was requested, perhaps while all batches were empty.
    """
    emitted = 0
    with closing(cancellation.watched(_execute(phase, executor))) as batches:
        try:
            for batch in batches:
                if len(batch):
                    emitted += 1
                    yield batch  # type: ignore[misc]
                    if emitted == 1:  # a caller that needs only one file has it now
                        executor.expect(phase.expects())
        except HeadraceError as error:
            return phase.failed(error, given=emitted)
    return phase.next()


def _execute(phase: PartialResult[T], executor: Executor) -> Iterator[Batch]:
    if isinstance(phase, Parallel):
        return executor.execute_leaves(phase.leaves())
    return executor.execute(phase.plan())
