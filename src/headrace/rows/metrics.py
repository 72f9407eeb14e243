"""What reading rows has taken so far, for those who watch it."""

from typing import Any

import msgspec

from headrace.metrics.meter import Meter
from headrace.scan.metrics import ScanMetrics
from headrace.scan.scan import Scan


class RowMetrics(msgspec.Struct, frozen=True):
    """The numbers of one reader; they grow while it reads."""

    source: Scan
    data: Meter
    """What the data files have taken; `files_read` leaves out those of deletion vectors."""

    @property
    def scan(self) -> ScanMetrics:
        """What the log has taken."""
        return self.source.metrics

    def as_dict(self) -> dict[str, Any]:
        """Everything by name: that of the log as a scan tells it, and that of the data files."""
        counts = self.data.counts
        return {
            **self.scan.as_dict(),
            "data.files_read": counts.files_read,
            "data.bytes_read": counts.bytes_read,
            "data.requests": counts.requests,
            "data.retries": counts.retries,
            "data.row_groups_skipped": counts.row_groups_skipped,
        }
