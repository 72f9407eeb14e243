"""Measures the iterations of a scan, and reports the end of each.

A meter enters with each iteration; the metrics of the latest one can be read while it runs. When
an iteration ends, however it ends, the reporter receives a `LogReplayCompleted`, and a `StateRead`
if the base is a state.
"""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager

from headrace.log.segment import Segment
from headrace.metrics.event import ChecksumMismatched, Event
from headrace.metrics.meter import Meter
from headrace.metrics.reporter import Reporter
from headrace.phases.scan_request import ScanRequest
from headrace.protocol.action import Checksum
from headrace.scan.lazy_imports import RecordBatch
from headrace.scan.metrics import ScanMetrics
from headrace.scan.strategy import ScanDecision


class ScanMetering:
    """The metrics of one scan."""

    def __init__(
        self,
        *,
        request: ScanRequest,
        segment: Segment,
        checksum: Checksum | None,
        reporter: Reporter,
        planned: ScanDecision,
    ) -> None:
        """Start with nothing counted.

        Args:
            request: The table and version to scan.
            segment: The log files to read.
            checksum: The checksum of the version, if the log has one.
            reporter: Receives the events.
            planned: The strategy of the scan.
        """
        self.metrics = ScanMetrics(meter=Meter(), planned=planned)
        """The metrics of the iteration started last, live while it runs."""
        self._request = request
        self._segment = segment
        self._checksum = checksum
        self._reporter = reporter

    def start(self, meter: Meter, planned: ScanDecision) -> ScanMetrics:
        """Start an iteration whose caller reports its end."""
        meter.start()
        meter.count(fallbacks=self._segment.abandoned)
        self.metrics = ScanMetrics(meter=meter, planned=planned)
        return self.metrics

    @contextmanager
    def reported(self, meter: Meter, planned: ScanDecision) -> Iterator[None]:
        """Start an iteration, and report its end when the context exits."""
        metrics = self.start(meter, planned)
        try:
            yield
        finally:
            meter.end()
            for event in self.completed(metrics):
                self._reporter(event)

    def batches(
        self, batches: Generator[RecordBatch, None, None], meter: Meter, planned: ScanDecision
    ) -> Generator[RecordBatch, None, None]:
        """Yield the same batches as one iteration, and count their files at its end."""
        files = 0
        with self.reported(meter, planned), closing(batches):
            try:
                for batch in batches:
                    files += batch.num_rows
                    yield batch
            except Exception:
                meter.set_emitted(files)  # the caller gets them before the error
                raise
            meter.set_emitted(files)

    def completed(self, metrics: ScanMetrics) -> Iterator[Event]:
        """Yield the events that end an iteration, including that of the state that was read."""
        table, state = self._request.table, self._segment.state
        yield metrics.completed(table=table, version=self._request.version)
        counts = metrics.counts
        is_used = not counts.listing_cache_hits and counts.fallbacks == self._segment.abandoned
        if state is not None and is_used:
            yield metrics.state_read(table=table, state=state.manifest)

    def compare(self, files: int, size_bytes: int | None) -> None:
        """Report a checksum file that contradicts a complete list of the files.

        Args:
            files: The number of files.
            size_bytes: Their total size; None if it was not counted.
        """
        checksum, source = self._checksum, self._segment.checksum
        if checksum is None or source is None or self._request.predicate is not None:
            return
        claims = (
            ("numFiles", checksum.num_files, files),
            ("tableSizeBytes", checksum.table_size_bytes, size_bytes),
        )
        for name, claimed, counted in claims:
            if claimed is not None and counted is not None and claimed != counted:
                self._reporter(
                    ChecksumMismatched(
                        table=self._request.table,
                        path=source.path,
                        field=name,
                        claimed=claimed,
                        found=counted,
                    )
                )
