"""`LiveFile`: a file of the scanned version, as users see it.

A batch of adds and what all files of the table share enter; `LiveFile` values leave.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headrace.plan.batch import ActionBatch
from headrace.protocol.action import DeletionVector
from headrace.protocol.key import canonical_path
from headrace.protocol.schema import DataType, PrimitiveType, StructType
from headrace.protocol.value import typed_value
from headrace.scan.file_statistics import FileStatistics, num_records, parse_statistics
from headrace.scan.html import facts_html
from headrace.storage.location import resolve


class PartitionColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A partition column with its logical and physical name."""

    name: str
    physical_name: str
    type: DataType

    @classmethod
    def of(cls, name: str, *, schema: StructType) -> "PartitionColumn":
        """Find it in the schema; an unknown column is a string column."""
        field = schema.find(name)
        if field is None:
            return cls(name=name, physical_name=name, type=PrimitiveType("string"))
        return cls(name=field.name, physical_name=field.physical_name, type=field.type)


class FileContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the files of one table share: its address, columns and partition columns."""

    root: str
    partition_columns: tuple[PartitionColumn, ...]
    schema: StructType = StructType()
    """All columns of the table."""

    def __hash__(self) -> int:
        return hash((self.root, self.partition_columns))  # a schema may have thousands of columns


class LiveFile(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """A file that belongs to the table at the version that was scanned.

    Two values are equal if they are the same file of the same table with the same deletion vector,
    so `set(new) - set(old)` has the new files.
    """

    path: str
    """The path as stored in the log: a URI, relative to the table or absolute."""
    size_bytes: int
    """The size of the file."""
    modified_ms: int
    """When the file was created, in milliseconds since 1970."""
    partition_values: Mapping[str, str | None]
    """The string of each partition value by logical column name; null is None."""
    deletion_vector: DeletionVector | None = None
    """Describes which rows are deleted, and where the vector is stored."""
    stats: str | None = None
    """The statistics as stored in the log: JSON, or None."""
    version: int | None = None
    """The commit that added the file; None if only a checkpoint or compaction file has it."""
    tags: Mapping[str, str | None] | None = None
    """Tags that the writer attached to the file."""
    context: FileContext
    """What the file shares with all other files of its table."""

    def __repr__(self) -> str:
        vector = "" if self.dv_id is None else f", dv_id={self.dv_id!r}"
        return f"LiveFile({self.path!r}{vector}, size_bytes={self.size_bytes})"

    def _repr_html_(self) -> str:
        facts = {
            "path": self.path,
            **self.partition_values,
            "size_bytes": f"{self.size_bytes:,}",
            "num_records": self.num_records,
            "dv_id": self.dv_id,
            "version": self.version,
        }
        return facts_html("LiveFile", facts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LiveFile):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str, str | None]:
        return (self.context.root, canonical_path(self.path), self.dv_id)

    @property
    def num_records(self) -> int | None:
        """The number of rows in `stats`, including deleted rows; None if `stats` lacks it."""
        return num_records(self.stats)

    @property
    def statistics(self) -> FileStatistics | None:
        """The content of `stats` as Python values; None if it is missing or damaged."""
        return parse_statistics(self.stats, self.context.schema)

    @property
    def uri(self) -> str:
        """The decoded, absolute address of the file.

        Raises:
            UnsafePathError: the path leads outside the table.
        """
        return resolve(self.context.root, self.path)

    @property
    def dv_id(self) -> str | None:
        """The id of the deletion vector; together with the path it identifies the file."""
        return None if self.deletion_vector is None else self.deletion_vector.unique_id

    @property
    def typed_partition_values(self) -> dict[str, Any]:
        """The partition values as Python values of their columns' types.

        Raises:
            PartitionValueError: a value does not have its column's type.
        """
        return {
            column.name: typed_value(
                self.partition_values[column.name], column.type, column=column.name
            )
            for column in self.context.partition_columns
        }


def live_files(batch: ActionBatch, context: FileContext) -> Iterator[LiveFile]:
    """Yield the adds of a batch as live files."""
    version = batch.source.version
    columns = [(c.name, c.physical_name) for c in context.partition_columns]
    for add in batch.actions("add"):
        values = add.partition_values
        yield LiveFile(
            path=add.path,
            size_bytes=add.size,
            modified_ms=add.modification_time,
            partition_values={name: values.get(physical) or None for name, physical in columns},
            deletion_vector=add.deletion_vector,
            stats=add.stats,
            version=version,
            tags=add.tags,
            context=context,
        )
