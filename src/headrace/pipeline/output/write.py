"""What is to be written: the rows of a view as staged files, and how its table takes them."""

from pathlib import Path

import msgspec
import pyarrow as pa

from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staged import StagedFile, list_staged
from headrace.pipeline.output.staging import Staging
from headrace.pipeline.project.header import Header


class OutputWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one view, on their way into the next version of its table."""

    staging: Staging
    rows: Path
    """Where the rows are: Parquet files, laid out by the partitions of the table."""
    schema: pa.Schema
    header: Header
    note: CommitNote

    @property
    def table(self) -> Path:
        """The table that takes the rows."""
        return self.staging.table

    @property
    def has_rows(self) -> bool:
        """Whether there is anything to write."""
        return self.note.digest.rows > 0

    def files(self, folder: Path | None = None) -> list[StagedFile]:
        """The files of the rows, or of another folder of the staging."""
        return list_staged(
            self.table,
            self.rows if folder is None else folder,
            schema=self.schema,
            partition_by=self.header.partition_by,
        )


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge puts into a table, and in place of what."""

    files: list[StagedFile]
    replaced: frozenset[str] = frozenset()
    """The files that go, by their paths in the log."""
    changes: list[StagedFile] = []
    """The changed rows, for readers of the change data feed."""
