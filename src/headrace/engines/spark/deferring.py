"""Replays a log but defers its checkpoint, so that the checkpoint's content never leaves Spark.

Plans enter; the batches of commits leave, and the tasks that Spark's workers must still run.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.lowering import LeafWork, Task, check_leaves, cut_tasks, lower_leaves
from headrace.errors import PlanRefusedError
from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import Node


class DeferringExecutor(Executor):
    """Executes everything except the leaves of a checkpoint, which it defers.

    A run returns the adds of commits, and everything else that Spark does not accept. At the end,
    `deferred` has the remaining work for Spark. A leaf that cannot be opened fails during the run,
    so that the run can still fall back to an older base.
    """

    def __init__(
        self, embedded: ArrowExecutor, *, task_bytes: int, context: ExecutionContext | None = None
    ) -> None:
        self.deferred: list[tuple[LeafWork, tuple[Task, ...]]] = []
        """The work that all tasks of a phase share, and the tasks."""
        self._embedded = embedded
        self._task_bytes = task_bytes
        self._context = context or ExecutionContext()

    def bound(self, context: ExecutionContext) -> "DeferringExecutor":
        """Return an executor for one run; it adds to the same list of deferred work."""
        copy = DeferringExecutor(
            self._embedded.bound(context), task_bytes=self._task_bytes, context=context
        )
        copy.deferred = self.deferred
        return copy

    def execute(self, plan: Node) -> Iterator[Batch]:
        """Execute the plan on the embedded engine."""
        return self._embedded.execute(plan)

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Check and defer the leaves of a checkpoint; execute others."""
        engine = self._embedded
        try:
            work, files = lower_leaves(leaves, engine=engine, settings=self._context.settings)
        except PlanRefusedError:
            yield from engine.execute_leaves(leaves)
            return
        check_leaves(files, engine=engine)
        tasks = cut_tasks(files, work=work, engine=engine, task_bytes=self._task_bytes)
        # Footers are not sent: they would be a large part of the plan that Spark keeps.
        without_footers = (tuple(replace(piece, footer=None) for piece in task) for task in tasks)
        self.deferred.append((work, tuple(without_footers)))
