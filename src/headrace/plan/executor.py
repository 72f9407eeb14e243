"""The executor interface, which an engine implements so that phases can run on it.

A plan enters; its batches leave, lazily.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.node import Node


class Executor(ABC):
    """Executes plans.

    The contract:

    - Batches are yielded lazily, in the order that the node promises: nothing is read before the
      first batch is requested, and little more is read than was requested.
    - Closing the iterator stops all its work and releases its resources. An engine that may read
      for long without yielding a batch must also check the `cancellation` of its context.
    - Every failure raises a `HeadraceError`: `ObjectNotFoundError` for a missing file,
      `CorruptLogError` or `CorruptCheckpointError` for one that cannot be decoded. A failure
      never shortens the answer.
    """

    @abstractmethod
    def execute(self, plan: Node) -> Iterator[Batch]:
        """Execute one plan in order."""

    def bound(self, context: ExecutionContext) -> "Executor":  # noqa: ARG002
        """Return this engine bound to one execution: to its settings, meter and cancellation.

        An engine that counts nothing may return itself.
        """
        return self

    def forget(self) -> None:  # noqa: B027  (most engines remember nothing)
        """Drop everything cached between executions, such as footers."""

    def begin(self, plan: Node) -> None:  # noqa: B027  (most engines have no use for it)
        """Prepare to execute a whole plan: everything it reads may be requested at once.

        This is a hint: a read that fails now raises only when the plan is executed.
        """

    def expect(self, plans: Sequence[Node]) -> None:  # noqa: B027  (as for `begin`)
        """Prepare for plans that are likely to be executed later in the execution; also a hint."""

    def finish(self) -> None:  # noqa: B027  (as for `begin`)
        """Stop the work that `begin` and `expect` started: the execution is over.

        Work that has not started is dropped. Returns when no work is in progress.
        """

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Execute independent plans, in any order and on any thread or machine.

        A leaf that cannot be opened should fail before the first batch is yielded: until then the
        scan can still fall back to an older base.
        """
        for leaf in leaves:
            yield from self.execute(leaf)
