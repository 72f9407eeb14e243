"""Reads the matching blocks of one manifest in few requests, and checks them against its state.

A manifest, its description in the state and a predicate enter; its raw blocks leave.
"""

from collections.abc import Iterator
from hashlib import sha256

import msgspec

from headrace.avro.block_index import (
    IndexedBlock,
    PlacedBlock,
    check_block,
    check_header,
    decode_index,
    place_blocks,
)
from headrace.avro.codec import Bytes
from headrace.avro.container import Header, RawBlock, read_header, split_blocks
from headrace.errors import CorruptStateError, ObjectNotFoundError, ObjectTooShortError
from headrace.expr.node import BoundPredicate
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import ManifestInfo
from headrace.replay.partition_pruning import parts_to_read
from headrace.storage.byte_range import ByteRange
from headrace.storage.store import RequestCost, Store

_HEADER_BYTES = 64 << 10
"""The size of the first read of a header of unknown size."""
_SMALL_BYTES = 1 << 20
"""A remote manifest of at most this size is read whole: a request costs as much."""


class BlockToRead(msgspec.Struct, frozen=True, kw_only=True):
    """A block to decode, and the version that its entries inherit, if one is known."""

    block: RawBlock
    added_at_version: int | None = None


class OpenManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The blocks of a manifest that may hold matching entries."""

    file: LogFile
    info: ManifestInfo
    header: Header
    blocks: tuple[BlockToRead, ...]
    skipped_rows: int = 0
    """The number of entries in the other blocks."""
    skipped_blocks: int = 0


class ManifestStore(msgspec.Struct, frozen=True):
    """Reads manifests from a store."""

    store: Store

    def read(
        self, file: LogFile, info: ManifestInfo, predicate: BoundPredicate | None
    ) -> OpenManifest:
        """Return the blocks of a manifest that a predicate does not prune.

        Raises:
            CorruptStateError: it is missing, damaged, or does not match its state.
        """
        try:
            if predicate is None or self._is_small(info):
                return _whole(file, info, self.store.read(file.path), predicate)
            return self._by_ranges(file, info, predicate)
        except ObjectNotFoundError as error:
            reason = "its state names this manifest, but it is missing"
            raise CorruptStateError(path=file.path, reason=reason) from error
        except ObjectTooShortError as error:
            raise CorruptStateError(path=file.path, reason="the file ends early") from error

    def _is_small(self, info: ManifestInfo) -> bool:
        least = _SMALL_BYTES if self.store.request_cost is RequestCost.REMOTE else _HEADER_BYTES
        return 0 <= info.length_bytes <= least

    def _by_ranges(
        self, file: LogFile, info: ManifestInfo, predicate: BoundPredicate
    ) -> OpenManifest:
        if info.header_bytes <= 0:  # a file of another writer, without a block index
            return _whole(file, info, self.store.read(file.path), predicate)
        (head,) = self.store.read_ranges(file.path, [ByteRange(0, info.header_bytes)])
        check_header(head, info, path=file.path)
        header = read_header(head, path=file.path)
        if header is None or header.length_bytes != info.header_bytes:
            raise CorruptStateError(path=file.path, reason="its header does not match its state")
        index = decode_index(header)
        if index is None:
            return _whole(file, info, self.store.read(file.path), predicate)
        _check_index(index, header, info)
        placed, skipped_rows, skipped = _chosen(index, header, predicate)
        ranges = [ByteRange(block.start, block.block.length_bytes) for block in placed]
        contents = self.store.read_ranges(file.path, ranges) if ranges else []
        blocks = [
            _checked_block(content, block.block, header)
            for block, content in zip(placed, contents, strict=True)
        ]
        return OpenManifest(
            file=file,
            info=info,
            header=header,
            blocks=tuple(blocks),
            skipped_rows=skipped_rows,
            skipped_blocks=skipped,
        )


def _whole(
    file: LogFile, info: ManifestInfo, content: bytes, predicate: BoundPredicate | None
) -> OpenManifest:
    """Check a whole manifest, and choose among its blocks."""
    _check_content(content, file, info)
    header = read_header(content, path=file.path)
    if header is None:
        raise CorruptStateError(path=file.path, reason="the file ends within its header")
    blocks = list(split_blocks(memoryview(content)[header.length_bytes :], header))
    count = sum(block.count for block in blocks)
    if count != info.num_entries:
        reason = f"it has {count} entries, but its state records {info.num_entries}"
        raise CorruptStateError(path=file.path, reason=reason)
    index = decode_index(header)
    if index is None:
        all_blocks = tuple(BlockToRead(block=block) for block in blocks)
        return OpenManifest(file=file, info=info, header=header, blocks=all_blocks)
    if [part.count for part in index] != [block.count for block in blocks]:
        raise CorruptStateError(path=file.path, reason="its block index does not match its blocks")
    keep = parts_to_read(predicate, [part.bounds for part in index])
    return OpenManifest(
        file=file,
        info=info,
        header=header,
        blocks=tuple(
            BlockToRead(block=block, added_at_version=part.added_at_version)
            for block, part, is_needed in zip(blocks, index, keep, strict=True)
            if is_needed
        ),
        skipped_rows=sum(
            part.count for part, is_needed in zip(index, keep, strict=True) if not is_needed
        ),
        skipped_blocks=keep.count(False),
    )


def _check_content(content: bytes, file: LogFile, info: ManifestInfo) -> None:
    if info.length_bytes >= 0 and len(content) != info.length_bytes:
        reason = f"it has {len(content)} bytes, but its state records {info.length_bytes}"
        raise CorruptStateError(path=file.path, reason=reason)
    if info.sha256 is not None and sha256(content).hexdigest() != info.sha256:
        reason = "its digest differs from the one in its state"
        raise CorruptStateError(path=file.path, reason=reason)


def _check_index(index: tuple[IndexedBlock, ...], header: Header, info: ManifestInfo) -> None:
    count = sum(block.count for block in index)
    length = header.length_bytes + sum(block.length_bytes for block in index)
    if count != info.num_entries or (info.length_bytes >= 0 and length != info.length_bytes):
        raise CorruptStateError(path=header.path, reason="its block index does not match its state")


def _chosen(
    index: tuple[IndexedBlock, ...], header: Header, predicate: BoundPredicate
) -> tuple[list[PlacedBlock], int, int]:
    keep = parts_to_read(predicate, [block.bounds for block in index])
    placed = place_blocks(index, header)
    needed = [block for block, is_needed in zip(placed, keep, strict=True) if is_needed]
    skipped = sum(
        block.count for block, is_needed in zip(index, keep, strict=True) if not is_needed
    )
    return needed, skipped, keep.count(False)


def _checked_block(content: Bytes, index: IndexedBlock, header: Header) -> BlockToRead:
    blocks: Iterator[RawBlock] = split_blocks(content, header)
    block = next(blocks, None)
    if block is None or next(blocks, None) is not None:
        raise CorruptStateError(
            path=header.path, reason="its block index does not match its blocks"
        )
    check_block(block, index, header)
    return BlockToRead(block=block, added_at_version=index.added_at_version)
