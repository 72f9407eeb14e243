"""Executes the leaves of a checkpoint on Spark, and everything else on the embedded engine.

Plans enter; batches leave, with the counts of the workers. Plans that Spark refuses are counted.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from headrace.engines.arrow.executor import ArrowExecutor
from headrace.engines.spark.any_session import parallelism
from headrace.engines.spark.lowering import (
    LeafWork,
    Task,
    check_leaves,
    cut_tasks,
    lower_leaves,
    refuse,
)
from headrace.engines.spark.manifest_task import is_checked_first, lower_manifests
from headrace.engines.spark.shipment import shipped
from headrace.engines.spark.wave import collect_in_waves, waves_of
from headrace.engines.spark.worker import ANSWER_DDL, AnswerTasks, Shipped, open_answers
from headrace.errors import PlanRefusedError
from headrace.plan.batch import Batch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import Node, ScanParquet
from headrace.protocol.log_file import LogFile

_LOGGER = logging.getLogger("headrace.engines.spark")

TASK_BYTES = 8 << 20
"""How much of a checkpoint one task reads: small, so that its results arrive early."""
WAVE_BYTES = 64 << 20
"""How much of a checkpoint the tasks of one job read together; the driver holds two waves."""


class SparkExecutor(Executor):
    """Runs parallel phases on a Spark session, and all others on an embedded engine.

    The workers also run the embedded engine, so a leaf has the same adds wherever it is read. They
    need the packages `headrace` and `pyarrow`, and access to the table's store.
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
        """Combine a session and an embedded engine.

        Args:
            session: Reads the leaves of a checkpoint; classic or Spark Connect.
            embedded: Reads everything else, and runs on the workers.
            task_bytes: How much of a checkpoint one task reads.
            wave_bytes: How much the tasks of one job read together.
            context: The run that this engine is bound to.
        """
        self.session = session
        self.embedded = embedded
        self.refusals: Counter[str] = Counter()
        """The number of plans that the embedded engine executed instead of Spark, by node."""
        self._task_bytes = task_bytes
        self._wave_bytes = wave_bytes
        self._context = context or ExecutionContext()

    def bound(self, context: ExecutionContext) -> "SparkExecutor":
        """Return both engines for one run; refusals are added to the same counter."""
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
        """Drop what the embedded engine has cached; Spark's workers cache nothing."""
        self.embedded.forget()

    def execute(self, plan: Node) -> Iterator[Batch]:
        """Record that Spark refuses the plan, and execute it on the embedded engine."""
        self._count_refusal(refuse(plan))
        return self.embedded.execute(plan)

    def begin(self, plan: Node) -> None:
        """Let the embedded engine prepare."""
        self.embedded.begin(plan)

    def expect(self, plans: Sequence[Node]) -> None:
        """Let the embedded engine read footers: Spark's workers read the rest of a checkpoint."""
        self.embedded.expect(
            [replace(p, columns=()) if isinstance(p, ScanParquet) else p for p in plans]
        )

    def finish(self) -> None:
        """End the work that the embedded engine has started."""
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
            work, tasks = manifests
            if is_checked_first(work, tasks):
                return self._collect(work, [tuple(tasks)])
            return self._collect(work, self._waves(tasks))
        try:
            work, files = lower_leaves(
                leaves, engine=self.embedded, settings=self._context.settings
            )
        except PlanRefusedError as refusal:
            self._count_refusal(refusal)
            return self.embedded.execute_leaves(leaves)
        return self._run_on_spark(work, files)

    def _run_on_spark(self, work: LeafWork, files: Sequence[LogFile]) -> Iterator[Batch]:
        check_leaves(files, engine=self.embedded)
        tasks = cut_tasks(files, work=work, engine=self.embedded, task_bytes=self._task_bytes)
        yield from self._collect(work, self._waves(tasks))

    def _waves(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
        return waves_of(tasks, first=parallelism(self.session), wave_bytes=self._wave_bytes)

    def _collect(self, work: LeafWork, waves: Iterable[tuple[Task, ...]]) -> Iterator[Batch]:
        with (
            shipped(self.session, work) as shipment,
            closing(
                collect_in_waves(
                    self.session,
                    waves,
                    to_frame=lambda wave: self._frame(shipment, wave),
                    cancellation=self._context.cancellation,
                )
            ) as waves_collected,
        ):
            for wave, answers in waves_collected:
                yield from open_answers(answers, wave, meter=self._context.meter)

    def _frame(self, work: Shipped[LeafWork], tasks: tuple[Task, ...]) -> DataFrame:
        """Return a job with one task per partition."""
        numbers = self.session.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(AnswerTasks(work, tasks), ANSWER_DDL)

    def _count_refusal(self, refusal: PlanRefusedError) -> None:
        self.refusals[refusal.node] += 1
        _LOGGER.debug("%s", refusal)
