"""How rows are read. No option changes which rows there are, nor their order."""

from headrace.scan.options import ScanOptions


class RowOptions(ScanOptions, frozen=True, kw_only=True):
    """Every option of reading rows: those of a scan, and how data files are read.

    Together they bound the memory: at most `files_at_once` files are open, and each has at most
    `batches_ahead` batches of `rows_per_batch` rows ready, beside the one that is being made.
    """

    rows_per_batch: int = 65_536
    """The most rows in one batch."""
    files_at_once: int = 4
    """How many data files are open at once. Under a limit it starts with one, and doubles."""
    batches_ahead: int = 2
    """How many batches of each open file may be ready before they are asked for."""
