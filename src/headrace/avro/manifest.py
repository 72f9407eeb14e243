"""Write a manifest: entries or whole blocks enter in order; the parts of a file leave.

The block index is in the header, so compressed blocks stay in memory until the end; entries stay
only until their block is full. A block that is large enough ends where the partition changes, so
that one partition can be read without its neighbours.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from os import urandom
from zlib import crc32

import msgspec

from headrace.avro.block_index import INDEX_KEY, IndexedBlock, encode_index
from headrace.avro.codec import Codec
from headrace.avro.container import SYNC_BYTES, RawBlock, write_header
from headrace.avro.record import encode_records
from headrace.protocol.key import path_range
from headrace.protocol.partition_bounds import BoundsBuilder, merge_bounds
from headrace.protocol.schema import DataType
from headrace.protocol.state import Entry, ManifestInfo
from headrace.protocol.state_schema import INDEXTABLES_ENTRY_SCHEMA, Schema

BLOCK_ENTRIES = 1024
"""The maximum number of entries in a block."""
MIN_ENTRIES = 128
"""A partition change does not end a block with fewer entries than this."""


class WrittenManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest that is ready to be stored."""

    parts: tuple[bytes, ...]
    """The bytes of the file, in order: the header, then the blocks."""
    info: ManifestInfo
    """The manifest's description in its state; the path is empty until it is stored."""
    blocks: tuple[IndexedBlock, ...]

    def content(self) -> bytes:
        """Return the whole file."""
        return b"".join(self.parts)


class ManifestWriter:
    """Collects the entries of one manifest."""

    def __init__(
        self,
        *,
        schema: Schema = INDEXTABLES_ENTRY_SCHEMA,
        codec: Codec | None = None,
        partition_types: Mapping[str, DataType] | None = None,
        added_at_version: int | None = None,
        block_entries: int = BLOCK_ENTRIES,
    ) -> None:
        """Start a manifest.

        Args:
            schema: The schema of its records.
            codec: The codec of its blocks; zstd at level 3 by default.
            partition_types: The partition columns, in the order of the spec, with their types.
            added_at_version: The version that entries with `addedAtVersion` 0 inherit.
            block_entries: The maximum number of entries in a block.
        """
        self.schema = schema
        self.codec = codec or Codec()
        self._types = dict(partition_types or {})
        self._added_at_version = added_at_version
        self._block_entries = block_entries
        self._sync = urandom(SYNC_BYTES)
        self._pending: list[Entry] = []
        self._partition: tuple[str | None, ...] | None = None
        self._framed: list[bytes] = []
        self._index: list[IndexedBlock] = []

    @property
    def count(self) -> int:
        """The number of entries so far."""
        return len(self._pending) + sum(block.count for block in self._index)

    @property
    def size_bytes(self) -> int:
        """The size of the finished blocks: an estimate of the file size, one block short."""
        return sum(map(len, self._framed))

    def append(self, entries: Iterable[Entry]) -> None:
        """Append entries; sorted entries make the best blocks."""
        for entry in entries:
            values = entry["partitionValues"]
            partition = tuple(values.get(name) for name in self._types)
            count = len(self._pending)
            changes = partition != self._partition and count >= MIN_ENTRIES
            if changes or count >= self._block_entries:
                self._end_block()
            self._partition = partition
            self._pending.append(entry)

    def append_block(self, block: RawBlock, index: IndexedBlock) -> None:
        """Append an unmodified block of a file with the same schema and codec."""
        self._end_block()
        self._add(block, index)

    def append_body(self, body: bytes, index: IndexedBlock) -> None:
        """Append a block of encoded records; `index` describes them, except for their length."""
        self._end_block()
        self._add(RawBlock(count=index.count, payload=self.codec.compress(body)), index)

    def finish(self) -> WrittenManifest:
        """Finish the manifest and return it."""
        self._end_block()
        metadata = {INDEX_KEY: encode_index(self._index)}
        header = write_header(self.schema, self.codec, self._sync, metadata=metadata)
        parts = (header, *self._framed)
        digest = sha256()
        for part in parts:
            digest.update(part)
        return WrittenManifest(
            parts=parts,
            info=msgspec.structs.replace(
                self._info(sum(map(len, parts))),
                header_bytes=len(header),
                header_sha256=sha256(header).hexdigest(),
                sha256=digest.hexdigest(),
            ),
            blocks=tuple(self._index),
        )

    def _end_block(self) -> None:
        entries, self._pending = self._pending, []
        self._partition = None
        if not entries:
            return
        payload = self.codec.compress(encode_records(entries, self.schema))
        block = RawBlock(count=len(entries), payload=payload)
        description = describe_entries(
            entries, self._types, inherited_version=self._added_at_version
        )
        refs = {ref for entry in entries if (ref := entry.get("docMappingRef"))}
        self._add(block, msgspec.structs.replace(description, refs=tuple(sorted(refs))))

    def _add(self, block: RawBlock, index: IndexedBlock) -> None:
        framed = block.framed(self._sync)
        self._framed.append(framed)
        self._index.append(
            msgspec.structs.replace(index, length_bytes=len(framed), crc32=crc32(block.payload))
        )

    def _info(self, length: int) -> ManifestInfo:
        index = self._index
        count = sum(block.count for block in index)
        bounds = merge_bounds((block.bounds for block in index), self._types) if index else None
        inherited = self._added_at_version or 0
        return ManifestInfo(
            path="",
            num_entries=count,
            min_added_at_version=min((b.min_version for b in index), default=inherited),
            max_added_at_version=max((b.max_version for b in index), default=inherited),
            partition_bounds=bounds or None,
            live_entry_count=count,
            live_bytes=sum(block.total_bytes for block in index),
            length_bytes=length,
            min_added_at_timestamp=min((b.min_timestamp for b in index), default=None),
            max_added_at_timestamp=max((b.max_timestamp for b in index), default=None),
            min_path=min((b.min_path for b in index), default=None),
            max_path=max((b.max_path for b in index), default=None),
        )


def describe_entries(
    entries: list[Entry],
    types: Mapping[str, DataType],
    *,
    length_bytes: int = 0,
    inherited_version: int | None = None,
) -> IndexedBlock:
    """Return the block index entry for the entries of one block, without their references.

    Args:
        entries: The entries, at least one.
        types: The partition columns, in the order of the spec, with their types.
        length_bytes: The length of the block in its file.
        inherited_version: The version that entries with `addedAtVersion` 0 inherit.
    """
    bounds = BoundsBuilder(types)
    for entry in entries:
        bounds.add(entry["partitionValues"])
    versions = [entry["addedAtVersion"] for entry in entries]
    if inherited_version is not None:
        versions = [version or inherited_version for version in versions]
    timestamps = [entry["addedAtTimestamp"] for entry in entries]
    min_path, max_path = path_range(entry["path"] for entry in entries)
    return IndexedBlock(
        length_bytes=length_bytes,
        count=len(entries),
        total_bytes=sum(entry["size"] for entry in entries),
        min_version=min(versions),
        max_version=max(versions),
        min_timestamp=min(timestamps),
        max_timestamp=max(timestamps),
        min_path=min_path,
        max_path=max_path,
        bounds=bounds.bounds() if types else None,
        added_at_version=inherited_version,
    )
