"""The options of a row read. No option changes which rows are returned, nor their order."""

from headrace.scan.options import ScanOptions


class RowOptions(ScanOptions, frozen=True, kw_only=True):
    """The options of a scan, and those of reading data files.

    Together they bound memory: at most `files_at_once` files, or groups of small files, are open,
    and each has at most `batches_ahead` batches of `rows_per_batch` rows ready, besides the one
    being decoded. `read_all` keeps every batch, so there `batches_ahead` does not apply.
    """

    rows_per_batch: int = 65_536
    """The maximum number of rows in a batch."""
    files_at_once: int = 4
    """The number of data files open at once. Under a limit it starts with one, and doubles."""
    batches_ahead: int = 2
    """The number of batches of each open file that may be ready before they are requested."""
