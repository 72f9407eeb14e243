"""The metrics of readers of rows and of changed rows.

The meters of a scan and of the data files enter; their counts leave, separately and by name.
"""

from typing import Any

import msgspec

from headrace.metrics.meter import Meter
from headrace.scan.metrics import ScanMetrics
from headrace.scan.scan import Scan


class ChangeMetrics(msgspec.Struct, frozen=True):
    """The metrics of one reader of changed rows, updated while it reads."""

    data: Meter
    """Counts of reading data files and change data files."""

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics by name."""
        return _data_counts(self.data)


class RowMetrics(msgspec.Struct, frozen=True):
    """The metrics of one reader, updated while it reads."""

    source: Scan
    data: Meter
    """Counts of reading data files; `files_read` excludes deletion vector files."""

    @property
    def scan(self) -> ScanMetrics:
        """The metrics of the scan of the log."""
        return self.source.metrics

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics by name: those of the scan, and those of the data files."""
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
