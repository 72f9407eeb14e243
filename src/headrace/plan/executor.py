"""The port: what an engine implements so that phases can run on it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.node import Node


class Executor(ABC):
    """Executes plans.

    The contract:

    - Batches leave in the order that the node promises, lazily: nothing is read before the
      first batch is asked for, and little more than what was asked for.
    - Closing the iterator stops all work for it and releases what it holds. An engine that may
      read for long without giving a batch looks at the `cancellation` of its context as well.
    - A failure is a `HeadraceError`: a missing file `ObjectNotFoundError`, an undecodable one
      `CorruptLogError` or `CorruptCheckpointError`. Never a shorter answer.
    """

    @abstractmethod
    def execute(self, plan: Node) -> Iterator[Batch]:
        """Execute one plan in order."""

    def bound(self, context: ExecutionContext) -> "Executor":  # noqa: ARG002
        """The same engine for one run: with its settings, its meter and its cancellation.

        An engine that counts nothing is its own answer.
        """
        return self

    def forget(self) -> None:  # noqa: B027  (most engines remember nothing)
        """Let go of all that is remembered from one run to the next, such as footers."""

    def begin(self, plan: Node) -> None:  # noqa: B027  (most engines have no use for it)
        """Prepare to execute a plan to its end: what it reads may be asked for all at once.

        It is a hint: what cannot be read now fails when the plan is executed.
        """

    def expect(self, plans: Sequence[Node]) -> None:  # noqa: B027  (likewise)
        """Prepare for plans that are likely to be executed later in the run. It is a hint, too."""

    def finish(self) -> None:  # noqa: B027  (likewise)
        """End what `begin` and `expect` have started: the run that this engine is bound to is over.

        What has not started is dropped. Returns when nothing is under way any more.
        """

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Execute independent plans, in any order and on any thread or machine.

        A leaf that cannot be opened should fail before the first batch is given, since until
        then the scan can still go on from an older base.
        """
        for leaf in leaves:
            yield from self.execute(leaf)
