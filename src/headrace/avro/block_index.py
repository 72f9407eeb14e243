"""The block index: what each block of a manifest holds, in an entry of the file's header.

Readers that do not know it ignore it. With it, one partition is read by a few ranges, and blocks
are copied into another manifest without a look at their records.
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
"""The entry of the header, as JSON: some libraries decode all entries as text."""


class IndexedBlock(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is known of a block without reading it."""

    length_bytes: int
    """In the file, with its frame."""
    count: int
    total_bytes: int
    """The size of all its files."""
    min_version: int
    max_version: int
    min_timestamp: int
    max_timestamp: int
    min_path: str
    max_path: str
    bounds: dict[str, PartitionBounds] | None = None
    added_at_version: int | None = None
    """What `addedAtVersion` means where an entry says 0; None: what the entry says."""
    crc32: int | None = None
    """The checksum of its compressed bytes, without the frame."""
    refs: tuple[str, ...] | None = None
    """The keys of the schema registry that its entries name; None where that is not known."""


class PlacedBlock(msgspec.Struct, frozen=True):
    """A block of the index, and where it is in the file."""

    start: int
    block: IndexedBlock

    @property
    def stop(self) -> int:
        """The place after it."""
        return self.start + self.block.length_bytes


def encode_index(blocks: Sequence[IndexedBlock]) -> bytes:
    """Return the value of the header's entry."""
    return msgspec.json.encode(blocks)


def decode_index(header: Header) -> tuple[IndexedBlock, ...] | None:
    """Return the block index of a file; None where it has none.

    Raises:
        CorruptStateError: there is one that makes no sense.
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
    """Compare the first bytes of a manifest with the header's digest in its state.

    Raises:
        CorruptStateError: they differ.
    """
    if info.header_sha256 not in {None, sha256(start).hexdigest()}:
        reason = "the digest of its header is not the one in its state"
        raise CorruptStateError(path=path, reason=reason)


def check_block(block: RawBlock, index: IndexedBlock, header: Header) -> None:
    """Compare a block with what the index says of it.

    Raises:
        CorruptStateError: it is another block, or a damaged one.
    """
    if block.count != index.count:
        reason = f"a block has {block.count} records, and its index says {index.count}"
        raise CorruptStateError(path=header.path, reason=reason)
    if index.crc32 is not None and index.crc32 != crc32(block.payload):
        reason = "the checksum of a block is not the one in its index"
        raise CorruptStateError(path=header.path, reason=reason)


def placed(blocks: Sequence[IndexedBlock], header: Header) -> Iterator[PlacedBlock]:
    """Return the blocks with their places in the file."""
    at = header.length_bytes
    for block in blocks:
        yield PlacedBlock(at, block)
        at += block.length_bytes
