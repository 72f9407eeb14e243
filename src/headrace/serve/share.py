"""Divides the files of a scan among endpoints, so that several clients read one flight in parallel.

Every share replays the commits, which fills the seen set; the first share also returns their
files. The leaves of the checkpoint are distributed among the shares. Together the shares return
every file once, without communicating.
"""

from collections.abc import Generator, Iterator, Sequence

import msgspec
import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.phases.phase import Consume, PartialResult, Phase, Terminus
from headrace.phases.scan import CheckpointReplay, plan_scan
from headrace.phases.scan_request import ScanOutcome
from headrace.phases.share import share_leaves
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.scan.arrow_files import add_fields, arrow_batches
from headrace.scan.reader import BatchReader
from headrace.scan.run import stream_phase
from headrace.scan.scan import Scan


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One share of a divided scan."""

    part: int
    """The number of this share, from 0."""
    parts: int


def open_share(
    scan: Scan,
    share: Share,
    *,
    executor: Executor,
    context: ExecutionContext,
    columns: Sequence[str],
) -> BatchReader[pa.RecordBatch]:
    """Return the files of one share as record batches, read ahead by a thread.

    Args:
        scan: The scan to divide, which has no limit.
        share: The share to return.
        executor: Executes the plans.
        context: The settings, counters and cancellation of the read.
        columns: The columns of the batches.
    """
    run = _ShareRun(share, executor=executor.bound(context), context=context)
    phase = plan_scan(scan.request.projected(add_fields(columns)), scan.segment)
    label = scan.arrow_schema(columns=columns).metadata

    def batches() -> Generator[pa.RecordBatch, None, None]:
        for batch in run.drive(phase):
            for files in arrow_batches(batch, scan.context, columns):
                context.meter.count_emitted(files.num_rows)
                yield files.replace_schema_metadata(label)

    return BatchReader(batches(), cancellation=context.cancellation)


class _ShareRun:
    """Runs the phases of a scan, and yields the batches of one share."""

    def __init__(self, share: Share, *, executor: Executor, context: ExecutionContext) -> None:
        self._share = share
        self._executor = executor
        self._cancellation = context.cancellation

    def drive(self, phase: Phase[ScanOutcome]) -> Iterator[ActionBatch]:
        """Yield the batches of this share, from `phase` to the end."""
        while not isinstance(phase, Terminus):
            if isinstance(phase, Consume):
                phase = self._consume(phase)
            elif isinstance(phase, CheckpointReplay):
                phase = yield from self._leaves(phase)
            else:
                phase = yield from self._commits(phase)

    def _consume(self, phase: Consume[ScanOutcome]) -> Phase[ScanOutcome]:
        try:
            batches = self._cancellation.watched(self._executor.execute(phase.plan()))
            return phase.next(list(batches))
        except HeadraceError as error:
            return phase.failed(error)

    def _leaves(self, phase: CheckpointReplay) -> Generator[ActionBatch, None, Phase[ScanOutcome]]:
        shares = share_leaves(phase, workers=self._share.parts)
        for leaves in shares[self._share.part : self._share.part + 1]:
            yield from stream_phase(
                leaves, executor=self._executor, cancellation=self._cancellation
            )
        return phase.next()

    def _commits(
        self, phase: PartialResult[ScanOutcome]
    ) -> Generator[ActionBatch, None, Phase[ScanOutcome]]:
        batches = stream_phase(phase, executor=self._executor, cancellation=self._cancellation)
        while True:
            try:
                batch = next(batches)
            except StopIteration as end:
                after: Phase[ScanOutcome] = end.value
                return after
            if self._share.part == 0:
                yield batch
