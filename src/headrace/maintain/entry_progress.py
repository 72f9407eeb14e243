"""Counts the entries that a long operation on a state has read and written.

The operation updates the counts; a progress bar reads them from another thread.
"""

import msgspec


class EntryProgress(msgspec.Struct, kw_only=True):
    """Counts entries while a state is synced, compacted or verified."""

    entries_read: int = 0
    entries_written: int = 0

    def read(self, entries: int) -> None:
        """Count entries that were read."""
        self.entries_read += entries

    def wrote(self, entries: int) -> None:
        """Count entries whose manifest was stored."""
        self.entries_written += entries
