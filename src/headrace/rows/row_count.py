"""A row count that records how it was obtained: from statistics, or by reading files."""

from typing import Self

from headrace.metrics.counts import counted


class RowCount(int):
    """A row count that records how it was obtained."""

    files_from_statistics: int
    """The number of files counted by statistics."""
    files_read: int
    """The number of files that had to be read."""

    @classmethod
    def of(cls, rows: int, *, files_from_statistics: int, files_read: int) -> Self:
        """Create a count."""
        count = cls(rows)
        count.files_from_statistics = files_from_statistics
        count.files_read = files_read
        return count

    @property
    def how(self) -> str:
        """Describe how the count was obtained."""
        known = counted(self.files_from_statistics, "file")
        read = counted(self.files_read, "file")
        return f"{known} by statistics, {read} read"
