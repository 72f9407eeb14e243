"""The footer of a Parquet checkpoint: its columns and row groups, with statistics and ranges."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.computed import computed
from headrace.storage.byte_range import ByteRange

WITNESS = {
    "add": "add.path",
    "remove": "remove.path",
    "protocol": "protocol.minReaderVersion",
    "metaData": "metaData.id",
    "txn": "txn.appId",
    "domainMetadata": "domainMetadata.domain",
    "sidecar": "sidecar.path",
}
"""For each action, a leaf column that is never null where the action is present."""

_FURTHER_WITNESSES = {
    "add": ("add.size", "add.modificationTime", "add.dataChange"),
    "sidecar": ("sidecar.sizeInBytes", "sidecar.modificationTime"),
}
"""More such columns, for actions that must not be missed even if the first one is damaged."""

_CODABLE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""The encodings, of levels and of values, that Arrow can read as dictionary codes."""


def chunk_range(chunk: pq.ColumnChunkMetaData) -> ByteRange:
    """Return the byte range of a column chunk, including its dictionary page."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page:
        start = min(start, chunk.dictionary_page_offset)
    return ByteRange(max(start, 0), max(chunk.total_compressed_size, 0))


class Footer(msgspec.Struct, frozen=True, dict=True):
    """A footer, with its leaf columns by path."""

    metadata: pq.FileMetaData
    file_bytes: int = 0
    """The size of the whole file; 0 if unknown."""
    etag: str | None = None
    """The version of the file that the footer belongs to; None if the store has no ETags."""

    @computed
    def positions(self) -> dict[str, int]:
        """The position of each leaf column, by path."""
        schema = self.metadata.schema
        return {schema.column(i).path: i for i in range(self.metadata.num_columns)}

    @computed
    def adds(self) -> pa.Field:
        """The Arrow field of the adds."""
        return self.metadata.schema.to_arrow_schema().field("add")

    def leaf_columns(self, columns: tuple[str, ...]) -> list[str]:
        """Return the leaf columns of the file at or below `columns`."""
        prefixes = tuple(f"{column}." for column in columns)
        return [path for path in self.positions if f"{path}.".startswith(prefixes)]

    def codable(self, leaf_columns: Sequence[str]) -> list[str]:
        """Return the leaf columns that Arrow can read as dictionary codes in all row groups."""
        groups = range(self.metadata.num_row_groups)
        return [
            leaf_column
            for leaf_column in leaf_columns
            if all(self._is_codable(g, leaf_column) for g in groups)
        ]

    def _is_codable(self, group: int, leaf_column: str) -> bool:
        chunk = self.chunk(group, leaf_column)
        return chunk is not None and _CODABLE.issuperset(chunk.encodings)

    def rows(self, group: int) -> int:
        """Return the number of rows of a row group."""
        return int(self.metadata.row_group(group).num_rows)

    def chunk(self, group: int, leaf_column: str) -> Any | None:
        """Return the metadata of a column chunk; None if the file has no such column."""
        position = self.positions.get(leaf_column)
        return None if position is None else self.metadata.row_group(group).column(position)

    def range(self, group: int, leaf_column: str) -> ByteRange | None:
        """Return the byte range of a column chunk; None if the file has no such column."""
        chunk = self.chunk(group, leaf_column)
        return None if chunk is None else chunk_range(chunk)

    def ranges(self, group: int, leaf_columns: Sequence[str]) -> list[ByteRange]:
        """Return the byte ranges of those `leaf_columns` that the file has."""
        ranges = (self.range(group, leaf_column) for leaf_column in leaf_columns)
        return [span for span in ranges if span is not None]

    def depth(self, leaf_column: str) -> int:
        """Return the maximum definition level of a leaf column: the nullable parts of its path."""
        return int(self.metadata.schema.column(self.positions[leaf_column]).max_definition_level)

    def nulls(self, group: int, leaf_column: str) -> int | None:
        """Return the number of null rows of a column; None if the footer does not say."""
        chunk = self.chunk(group, leaf_column)
        if chunk is None:
            return self.rows(group)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        return int(statistics.null_count)

    def holds(self, group: int, action: str) -> bool:
        """Return whether a row group can hold an action."""
        rows = self.rows(group)
        witnesses = (WITNESS[action], *_FURTHER_WITNESSES.get(action, ()))
        return any(self.nulls(group, leaf_column) != rows for leaf_column in witnesses)

    def actions(self, group: int, action: str) -> int | None:
        """Return how many actions of a kind a row group has; None if the footer does not say."""
        nulls = self.nulls(group, WITNESS[action])
        return None if nulls is None else self.rows(group) - nulls

    def is_null(self, group: int, column: str) -> bool:
        """Return whether a column and all columns below it are known to be null in a row group."""
        rows = self.rows(group)
        return all(
            self.nulls(group, leaf_column) == rows for leaf_column in self.leaf_columns((column,))
        )

    def compressed_bytes(self, group: int, leaf_columns: Sequence[str]) -> int:
        """Return the compressed size of these columns of a row group."""
        chunks = (self.chunk(group, leaf_column) for leaf_column in leaf_columns)
        return sum(chunk.total_compressed_size for chunk in chunks if chunk is not None)
