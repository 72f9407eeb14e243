"""What reading rows has taken so far, for those who watch it."""

from typing import Any

import msgspec

from headrace.metrics.meter import Meter
from headrace.scan.metrics import ScanMetrics
from headrace.scan.scan import Scan


class ChangeMetrics(msgspec.Struct, frozen=True):
    """The numbers of one reader of changed rows; they grow while it reads."""

    data: Meter
    """What the data files, and the files of change data, have taken."""

    def as_dict(self) -> dict[str, Any]:
        """Everything by name."""
        return _data_counts(self.data)


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
        return {**self.scan.as_dict(), **_data_counts(self.data)}


def _data_counts(data: Meter) -> dict[str, Any]:
    counts = data.counts
    return {
        "data.files_read": counts.files_read,
        "data.bytes_read": counts.bytes_read,
        "data.requests": counts.requests,
        "data.retries": counts.retries,
        "data.row_groups_skipped": counts.row_groups_skipped,
        "data.chunks_decoded": counts.chunks_decoded,
        "data.chunks_left_to_arrow": counts.chunks_left_to_arrow,
    }
