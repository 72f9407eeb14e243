"""A write to an output: the rows of a view as staged files, and the header of the view.

These values pass from runners, which stage rows, to the modules that commit them to tables.
"""

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds

from headrace.pipeline.output.note import CommitNote
from headrace.pipeline.output.staged import StagedFile, list_staged, open_staged
from headrace.pipeline.output.staging import Staging
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Header


class OutputWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The staged rows of one view, to be committed to its table."""

    staging: Staging
    rows: str
    """The folder of the rows below the table: Parquet files, in partition folders."""
    schema: pa.Schema
    header: Header
    note: CommitNote

    @property
    def table(self) -> Place:
        """The table to write to."""
        return self.staging.table

    @property
    def has_rows(self) -> bool:
        """Whether there is anything to write."""
        return self.note.digest.rows > 0

    def dataset(self) -> ds.Dataset:
        """Return the rows, including partition columns."""
        by = self.header.partition_by
        return open_staged(self.table / self.rows, schema=self.schema, partition_by=by)

    def files(self, folder: str | None = None) -> list[StagedFile]:
        """Return the files of the rows, or of another folder of the staging."""
        return list_staged(
            self.staging.store,
            self.rows if folder is None else folder,
            schema=self.schema,
            partition_by=self.header.partition_by,
        )


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a merge adds to a table, and those that they replace."""

    files: list[StagedFile]
    replaced: frozenset[str] = frozenset()
    """The replaced files, by their paths in the log."""
    changes: list[StagedFile] = []
    """The changed rows, for readers of the change data feed."""
