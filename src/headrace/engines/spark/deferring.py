"""Replaying a log so that what its checkpoint holds never leaves Spark."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.lowering import LeafWork, Task, check_leaves, cut, lower_leaves
from headrace.errors import PlanRefusedError
from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import Node


class DeferringExecutor(Executor):
    """Executes everything but the leaves of a checkpoint, which it keeps for later.

    A run on it gives the adds of commits, and whatever else Spark does not take; the rest is in
    `deferred` at its end, as work for Spark. A leaf that cannot be opened fails during the run, so
    that the run can still go on from an older base.
    """

    def __init__(
        self, embedded: ArrowExecutor, *, task_bytes: int, context: ExecutionContext | None = None
    ) -> None:
        self.deferred: list[tuple[LeafWork, tuple[Task, ...]]] = []
        """What all tasks of a phase share, and its tasks."""
        self._embedded = embedded
        self._task_bytes = task_bytes
        self._context = context or ExecutionContext()

    def bound(self, context: ExecutionContext) -> "DeferringExecutor":
        """The same for one run; the deferred work is collected in one place."""
        copy = DeferringExecutor(
            self._embedded.bound(context), task_bytes=self._task_bytes, context=context
        )
        copy.deferred = self.deferred
        return copy

    def execute(self, plan: Node) -> Iterator[Batch]:
        """Execute the plan on the embedded engine."""
        return self._embedded.execute(plan)

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Check the leaves of a checkpoint and keep them; execute others."""
        engine = self._embedded
        try:
            work, files = lower_leaves(leaves, engine=engine, settings=self._context.settings)
        except PlanRefusedError:
            yield from engine.execute_leaves(leaves)
            return
        check_leaves(files, engine=engine)
        tasks = cut(files, work=work, engine=engine, task_bytes=self._task_bytes)
        # The footers stay here: they would be a large part of the plan that Spark keeps.
        without = (tuple(replace(piece, footer=None) for piece in task) for task in tasks)
        self.deferred.append((work, tuple(without)))
