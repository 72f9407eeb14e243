"""The block index: a header entry that describes each block of a manifest.

Readers that do not know it ignore it. With it, one partition is read with a few range requests,
and blocks are copied into another manifest without decoding their records.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from zlib import crc32

import msgspec

from headrace.avro.codec import Bytes
from headrace.avro.container import Header, RawBlock
from headrace.errors import CorruptStateError
from headrace.protocol.state import ManifestInfo, PartitionBounds

INDEX_KEY = "headrace.blocks"
"""The key of the header entry; its value is JSON, as some libraries decode entries as text."""


class IndexedBlock(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The description of a block in the index."""

    length_bytes: int
    """The block's length in the file, including its frame."""
    count: int
    total_bytes: int
    """The total size of the files in its entries."""
    min_version: int
    max_version: int
    min_timestamp: int
    max_timestamp: int
    min_path: str
    max_path: str
    bounds: dict[str, PartitionBounds] | None = None
    added_at_version: int | None = None
    """The version that entries with `addedAtVersion` 0 inherit; None: they inherit nothing."""
    crc32: int | None = None
    """The checksum of the compressed bytes, without the frame."""
    refs: tuple[str, ...] | None = None
    """The schema registry keys that its entries reference; None if unknown."""


class PlacedBlock(msgspec.Struct, frozen=True):
    """A block of the index, with its offset in the file."""

    start: int
    block: IndexedBlock

    @property
    def stop(self) -> int:
        """The offset after the block."""
        return self.start + self.block.length_bytes


def encode_index(blocks: Sequence[IndexedBlock]) -> bytes:
    """Encode the block index as the value of the header entry."""
    return msgspec.json.encode(blocks)


def decode_index(header: Header) -> tuple[IndexedBlock, ...] | None:
    """Return the block index of a file; None if it has none.

    Raises:
        CorruptStateError: the block index is invalid.
    """
    text = header.metadata.get(INDEX_KEY)
    if text is None:
        return None
    try:
        blocks = msgspec.json.decode(text, type=tuple[IndexedBlock, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = f"its block index is damaged: {error}"
        raise CorruptStateError(path=header.path, reason=reason) from error
    if any(block.length_bytes <= 0 or block.count < 0 for block in blocks):
        raise CorruptStateError(path=header.path, reason="its block index has impossible sizes")
    return blocks


def check_header(start: Bytes, info: ManifestInfo, *, path: str) -> None:
    """Check the header bytes of a manifest against the header digest in its state.

    Raises:
        CorruptStateError: the digests differ.
    """
    if info.header_sha256 not in {None, sha256(start).hexdigest()}:
        reason = "the digest of its header differs from the one in its state"
        raise CorruptStateError(path=path, reason=reason)


def check_block(block: RawBlock, index: IndexedBlock, header: Header) -> None:
    """Check a block against its description in the index.

    Raises:
        CorruptStateError: the record count or the checksum differs.
    """
    if block.count != index.count:
        reason = f"a block has {block.count} records, but its index says {index.count}"
        raise CorruptStateError(path=header.path, reason=reason)
    if index.crc32 is not None and index.crc32 != crc32(block.payload):
        reason = "the checksum of a block differs from the one in its index"
        raise CorruptStateError(path=header.path, reason=reason)


def place_blocks(blocks: Sequence[IndexedBlock], header: Header) -> Iterator[PlacedBlock]:
    """Yield the blocks with their offsets in the file."""
    at = header.length_bytes
    for block in blocks:
        yield PlacedBlock(at, block)
        at += block.length_bytes
