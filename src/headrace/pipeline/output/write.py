"""What is to be written: rows that lie below a table already, as files, and how it takes them."""

from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import DeltaTable

from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.project.header import Header


class OutputWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one view, on their way into the next version of its table."""

    table: Path
    folder: Path
    """Where the rows are: Parquet files, laid out by the partitions of the table."""
    schema: pa.Schema
    header: Header
    note: CommitNote

    @property
    def has_table(self) -> bool:
        """Whether there is a table already."""
        return DeltaTable.is_deltatable(str(self.table))

    @property
    def has_rows(self) -> bool:
        """Whether there is anything to write."""
        return self.note.digest.rows > 0
