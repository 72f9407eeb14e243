"""What is to be written: the rows of a view as staged files, and how its table takes them."""

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds

from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staged import StagedFile, list_staged, open_staged
from headrace.pipeline.output.staging import Staging
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Header


class OutputWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one view, on their way into the next version of its table."""

    staging: Staging
    rows: str
    """Where the rows are, below the table: Parquet files, laid out by the table's partitions."""
    schema: pa.Schema
    header: Header
    note: CommitNote

    @property
    def table(self) -> Place:
        """The table that takes the rows."""
        return self.staging.table

    @property
    def has_rows(self) -> bool:
        """Whether there is anything to write."""
        return self.note.digest.rows > 0

    def dataset(self) -> ds.Dataset:
        """The rows, partition columns among them."""
        by = self.header.partition_by
        return open_staged(self.table / self.rows, schema=self.schema, partition_by=by)

    def files(self, folder: str | None = None) -> list[StagedFile]:
        """The files of the rows, or of another folder of the staging."""
        return list_staged(
            self.staging.store,
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
