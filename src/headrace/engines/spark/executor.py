"""Executes the leaves of a checkpoint on Spark, and everything else on the embedded engine."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from pyspark.sql import DataFrame, SparkSession

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.lowering import LeafWork, Task, check_leaves, cut, lower_leaves, refuse
from headrace.engines.spark.manifest_task import lower_manifests
from headrace.engines.spark.session import parallelism
from headrace.engines.spark.shipment import shipped
from headrace.engines.spark.wave import collect_in_waves, waves_of
from headrace.engines.spark.worker import ANSWER_DDL, AnswerTasks, Shipped, open_answers
from headrace.errors import PlanRefusedError
from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import Node
from headrace.protocol.log_file import LogFile

_LOGGER = logging.getLogger("headrace.engines.spark")

TASK_BYTES = 8 << 20
"""How much of a checkpoint one task reads: small, so that its answer is there soon."""
WAVE_BYTES = 64 << 20
"""How much of a checkpoint the tasks of one job read together; the driver holds two of them."""


class SparkExecutor(Executor):
    """A Spark session for parallel phases, and an embedded engine for all others.

    The workers run the embedded engine too, so the same leaf gives the same adds wherever it is
    read. They need the packages `headrace` and `pyarrow`, and must reach the table's store.
    """

    def __init__(
        self,
        session: SparkSession,
        *,
        embedded: ArrowExecutor,
        task_bytes: int = TASK_BYTES,
        wave_bytes: int = WAVE_BYTES,
        context: ExecutionContext | None = None,
    ) -> None:
        """Compose the two.

        Args:
            session: Where the leaves of a checkpoint are read; classic or Spark Connect.
            embedded: Reads everything else, and is what runs on the workers.
            task_bytes: How much of a checkpoint one task reads.
            wave_bytes: How much the tasks of one job read together.
            context: The run that this engine is bound to.
        """
        self.session = session
        self.embedded = embedded
        self.refusals: Counter[str] = Counter()
        """The plans that Spark did not take and the embedded engine executed, by their node."""
        self._task_bytes = task_bytes
        self._wave_bytes = wave_bytes
        self._context = context or ExecutionContext()

    def bound(self, context: ExecutionContext) -> "SparkExecutor":
        """Both engines for one run; refusals are still counted in one place."""
        copy = SparkExecutor(
            self.session,
            embedded=self.embedded.bound(context),
            task_bytes=self._task_bytes,
            wave_bytes=self._wave_bytes,
            context=context,
        )
        copy.refusals = self.refusals
        return copy

    def forget(self) -> None:
        """Let go of what the embedded engine remembers; Spark's workers remember nothing."""
        self.embedded.forget()

    def execute(self, plan: Node) -> Iterator[Batch]:
        """Refuse the plan, and execute it on the embedded engine."""
        self._note(refuse(plan))
        return self.embedded.execute(plan)

    def begin(self, plan: Node) -> None:
        """Let the embedded engine prepare."""
        self.embedded.begin(plan)

    def expect(self, plans: Sequence[Node]) -> None:
        """Let the embedded engine prepare."""
        self.embedded.expect(plans)

    def finish(self) -> None:
        """End what the embedded engine has started."""
        self.embedded.finish()

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Execute the leaves of a checkpoint on Spark, others on the embedded engine."""
        manifests = lower_manifests(
            leaves,
            engine=self.embedded,
            settings=self._context.settings,
            task_bytes=self._task_bytes,
        )
        if manifests is not None:
            return self._collected(*manifests)
        try:
            work, files = lower_leaves(
                leaves, engine=self.embedded, settings=self._context.settings
            )
        except PlanRefusedError as refusal:
            self._note(refusal)
            return self.embedded.execute_leaves(leaves)
        return self._on_spark(work, files)

    def _on_spark(self, work: LeafWork, files: Sequence[LogFile]) -> Iterator[Batch]:
        check_leaves(files, engine=self.embedded)
        tasks = cut(files, work=work, engine=self.embedded, task_bytes=self._task_bytes)
        yield from self._collected(work, tasks)

    def _collected(self, work: LeafWork, tasks: Iterable[Task]) -> Iterator[Batch]:
        waves = waves_of(tasks, first=parallelism(self.session), wave_bytes=self._wave_bytes)
        with (
            shipped(self.session, work) as shipment,
            closing(
                collect_in_waves(
                    self.session,
                    waves,
                    to_frame=lambda wave: self._frame(shipment, wave),
                    cancellation=self._context.cancellation,
                )
            ) as collected,
        ):
            for wave, answers in collected:
                yield from open_answers(answers, wave, meter=self._context.meter)

    def _frame(self, work: Shipped[LeafWork], tasks: tuple[Task, ...]) -> DataFrame:
        """A job with one task in each partition."""
        numbers = self.session.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(AnswerTasks(work, tasks), ANSWER_DDL)

    def _note(self, refusal: PlanRefusedError) -> None:
        self.refusals[refusal.node] += 1
        _LOGGER.debug("%s", refusal)
