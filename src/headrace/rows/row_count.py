"""A number of rows that says how it was found."""

from typing import Self

from headrace.metrics.counts import counted


class RowCount(int):
    """A number of rows, which also says how it was found."""

    files_from_statistics: int
    """Files whose rows were counted without opening them."""
    files_read: int
    """Files that had to be opened."""

    @classmethod
    def of(cls, rows: int, *, files_from_statistics: int, files_read: int) -> Self:
        """Put a count together."""
        count = cls(rows)
        count.files_from_statistics = files_from_statistics
        count.files_read = files_read
        return count

    @property
    def how(self) -> str:
        """How the count was found, for people."""
        known = counted(self.files_from_statistics, "file")
        read = counted(self.files_read, "file")
        return f"{known} by statistics, {read} read"
