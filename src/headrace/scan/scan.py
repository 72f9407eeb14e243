"""A scan: the live files of one snapshot, given as they are found."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headrace.log.segment import Segment
from headrace.metrics.event import ChecksumMismatched
from headrace.metrics.reporter import Reporter
from headrace.phases.scan import ScanOutcome, ScanRequest, plan_scan
from headrace.plan.batch import ActionBatch
from headrace.plan.executor import Executor
from headrace.protocol.action import Checksum
from headrace.scan.explain import explain_machine
from headrace.scan.live_file import FileContext, LiveFile, live_files
from headrace.scan.run import Run

RecordBatch: TypeAlias = Any
"""A `pyarrow.RecordBatch`, named so that this module does not import Arrow."""
ArrowSchema: TypeAlias = Any
"""A `pyarrow.Schema`, likewise."""


class ArrowFiles(Protocol):
    """How live files become Arrow; behind a port, so that nobody pays who does not ask."""

    def schema(self, context: FileContext) -> ArrowSchema:
        """The columns of every batch."""

    def batch(self, batch: ActionBatch, context: FileContext) -> RecordBatch:
        """The adds of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A lazy iterable of live files; each iteration reads the log anew, and only as far as asked.

    Iterate it for `LiveFile` values, or call `batches()` for Arrow.
    """

    request: ScanRequest
    segment: Segment
    context: FileContext
    executor: Executor
    reporter: Reporter
    arrow: ArrowFiles
    limit: int | None = None
    checksum: Checksum | None = None

    def run(self) -> Run[ScanOutcome]:
        """The machine itself, at its start: the batches as phases make them, without the limit."""
        phase = plan_scan(self.request, self.segment)
        return Run(phase, executor=self.executor, reporter=self.reporter)

    def explain(self) -> str:
        """The phases of this scan and their plans; no result is read for it."""
        phase = plan_scan(self.request, self.segment)
        return "\n".join(explain_machine(phase, executor=self.executor))

    def __iter__(self) -> Iterator[LiveFile]:
        return self._files()

    def _files(self) -> Generator[LiveFile, None, None]:
        left = self.limit
        if left == 0:
            return
        files = size_bytes = 0
        with self.run() as run:
            for batch in run:
                for file in live_files(batch, self.context):
                    files += 1
                    size_bytes += file.size_bytes
                    yield file
                    if files == left:
                        return
        self._compare(files, size_bytes)

    def batches(self) -> Iterator[RecordBatch]:
        """The live files as `pyarrow.RecordBatch` values, with the same content as iteration."""
        left = self.limit
        if left == 0:
            return
        with self.run() as run:
            for batch in run:
                records = self.arrow.batch(batch, self.context)
                if left is not None:
                    records = records.slice(0, left)
                    left -= records.num_rows
                yield records
                if left == 0:
                    return

    @property
    def arrow_schema(self) -> ArrowSchema:
        """The `pyarrow.Schema` of the batches."""
        return self.arrow.schema(self.context)

    def count(self) -> int:
        """How many files there are, without making a value of each."""
        left = self.limit
        found = 0
        with self.run() as run:
            for batch in run:
                found += len(batch)
                if left is not None and found >= left:
                    return left
        return found

    def _compare(self, files: int, size_bytes: int) -> None:
        """Surface a checksum file that does not agree with what the log gave, whole."""
        if self.checksum is None or self.segment.checksum is None or self.request.predicate:
            return
        claims = (
            ("numFiles", self.checksum.num_files, files),
            ("tableSizeBytes", self.checksum.table_size_bytes, size_bytes),
        )
        for name, claimed, found in claims:
            if claimed is not None and claimed != found:
                path = self.segment.checksum.path
                self.reporter(
                    ChecksumMismatched(path=path, field=name, claimed=claimed, found=found)
                )
