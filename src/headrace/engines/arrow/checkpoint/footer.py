"""What is known of a Parquet checkpoint from its footer, before a row is read."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

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
"""The leaf of each action that is never null where the action is there."""

_FURTHER_WITNESSES = {
    "add": ("add.size", "add.modificationTime", "add.dataChange"),
    "sidecar": ("sidecar.sizeInBytes", "sidecar.modificationTime"),
}
"""Other such leaves, for actions that must not be missed though the first one be damaged."""

_CODABLE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""The encodings that Arrow's reader of dictionary codes has; of levels, and of values."""


class Footer(msgspec.Struct, frozen=True, dict=True):
    """A footer, with its leaf columns by path."""

    metadata: pq.FileMetaData
    file_bytes: int = 0
    """The size of the whole file; 0: it is not known."""

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each leaf column stands."""
        schema = self.metadata.schema
        return {schema.column(i).path: i for i in range(self.metadata.num_columns)}

    @cached_property
    def adds(self) -> pa.Field:
        """How the file stores adds."""
        return self.metadata.schema.to_arrow_schema().field("add")

    def leaves(self, columns: tuple[str, ...]) -> list[str]:
        """The leaf columns of the file that lie at or below the wanted ones."""
        wanted = tuple(f"{column}." for column in columns)
        return [path for path in self.positions if f"{path}.".startswith(wanted)]

    def codable(self, leaves: Sequence[str]) -> list[str]:
        """Those leaf columns that Arrow can read as dictionary codes, in all row groups."""
        groups = range(self.metadata.num_row_groups)
        return [leaf for leaf in leaves if all(self._is_codable(g, leaf) for g in groups)]

    def _is_codable(self, group: int, leaf: str) -> bool:
        chunk = self.chunk(group, leaf)
        return chunk is not None and _CODABLE.issuperset(chunk.encodings)

    def rows(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self.metadata.row_group(group).num_rows)

    def chunk(self, group: int, leaf: str) -> Any | None:
        """The metadata of one column chunk; None where the file has no such column."""
        position = self.positions.get(leaf)
        return None if position is None else self.metadata.row_group(group).column(position)

    def range(self, group: int, leaf: str) -> ByteRange | None:
        """Where the pages of a column chunk are; None where the file has no such column."""
        chunk = self.chunk(group, leaf)
        if chunk is None:
            return None
        start = chunk.data_page_offset
        if chunk.has_dictionary_page:
            start = min(start, chunk.dictionary_page_offset)
        return ByteRange(max(start, 0), max(chunk.total_compressed_size, 0))

    def ranges(self, group: int, leaves: Sequence[str]) -> list[ByteRange]:
        """The same for several columns, those that the file has."""
        ranges = (self.range(group, leaf) for leaf in leaves)
        return [wanted for wanted in ranges if wanted is not None]

    def depth(self, leaf: str) -> int:
        """How many parts of the path of a leaf may be null, itself included."""
        return int(self.metadata.schema.column(self.positions[leaf]).max_definition_level)

    def nulls(self, group: int, leaf: str) -> int | None:
        """How many rows have no value there; None where the footer does not say."""
        chunk = self.chunk(group, leaf)
        if chunk is None:
            return self.rows(group)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        return int(statistics.null_count)

    def holds(self, group: int, action: str) -> bool:
        """Whether a row group can hold an action."""
        rows = self.rows(group)
        witnesses = (WITNESS[action], *_FURTHER_WITNESSES.get(action, ()))
        return any(self.nulls(group, leaf) != rows for leaf in witnesses)

    def actions(self, group: int, action: str) -> int | None:
        """How many actions of a kind a row group has; None where the footer does not say."""
        nulls = self.nulls(group, WITNESS[action])
        return None if nulls is None else self.rows(group) - nulls

    def is_null(self, group: int, column: str) -> bool:
        """Whether a column, with all that is below it, is known to be null in a whole group."""
        rows = self.rows(group)
        return all(self.nulls(group, leaf) == rows for leaf in self.leaves((column,)))

    def compressed_bytes(self, group: int, leaves: Sequence[str]) -> int:
        """How many bytes these columns of a row group take in the file."""
        chunks = (self.chunk(group, leaf) for leaf in leaves)
        return sum(chunk.total_compressed_size for chunk in chunks if chunk is not None)
