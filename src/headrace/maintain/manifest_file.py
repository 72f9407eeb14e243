"""A stored manifest, opened for maintenance: its blocks are copied or decoded one by one.

A manifest from another writer that has no block index is decoded once, and its index is built
here. Nothing is read twice: a manifest never changes, so an open one stays valid across the
attempts of a commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar

from headrace.avro.block_index import (
    IndexedBlock,
    PlacedBlock,
    check_block,
    check_header,
    decode_index,
    place_blocks,
)
from headrace.avro.container import Header, RawBlock, open_block, read_header, split_blocks
from headrace.avro.manifest import describe_entries
from headrace.avro.record import decode_block, decode_records
from headrace.errors import CorruptStateError, ObjectNotFoundError
from headrace.log.state_name import resolve_manifest
from headrace.maintain.known_entry import EntryReading
from headrace.maintain.parallel import read_each
from headrace.protocol.schema import DataType
from headrace.protocol.state import UNKNOWN_COUNT, Entry, ManifestInfo
from headrace.storage.store import Store

R = TypeVar("R")

_CHUNK_BYTES = 1 << 20
_SEARCHED_PATHS = 64
"""The most paths to search for in the bytes of a block; beyond that, decoding it is faster."""

_MARKS_OF_SPELLINGS = (b"%", b"file:/")
"""Paths with these may equal another path that is spelled differently."""


class ManifestFile:
    """An open manifest of a state: header and block index are loaded, blocks are fetched."""

    def __init__(  # noqa: PLR0913  (the results of opening it)
        self,
        store: Store,
        path: str,
        info: ManifestInfo,
        *,
        header: Header,
        blocks: tuple[PlacedBlock, ...],
        content: bytes | None = None,
        is_sorted: bool = True,
    ) -> None:
        self._store = store
        self.is_sorted = is_sorted
        """Whether each block is in partition order; one from another writer may not be."""
        self.path = path
        self.info = info
        self.header = header
        self.blocks = blocks
        self._content = content
        """The whole file, if it had to be read anyway."""
        self._reading = EntryReading(header)

    @property
    def has_checksums(self) -> bool:
        """Whether each block can be verified by itself, or the whole file has been verified."""
        is_whole = self._content is not None
        return is_whole or all(placed.block.crc32 is not None for placed in self.blocks)

    def raw(self, at: int) -> RawBlock:
        """Return a block as stored in the file.

        Raises:
            CorruptStateError: the file does not match its index.
        """
        placed = self.blocks[at]
        if self._content is not None:
            data = self._content[placed.start : placed.stop]
        else:
            with self._store.open(self.path) as file:
                file.seek(placed.start)
                data = file.read(placed.block.length_bytes)
        block, *more = split_blocks(data, self.header)
        if more:
            reason = f"entry {at} of its index spans several blocks"
            raise CorruptStateError(path=self.path, reason=reason)
        check_block(block, placed.block, self.header)
        return block

    def verify(self, *, hold: bool) -> None:
        """Check the whole file against its length and digest; keep it if `hold`, else stream it.

        Raises:
            CorruptStateError: it is damaged or missing.
        """
        if self._content is not None:
            return
        try:
            if hold:
                content = self._store.read(self.path)
                check_content(content, self.info, path=self.path)
                self._content = content
                return
            digest, length = sha256(), 0
            for chunk in self._store.read_chunks(self.path, chunk_bytes=_CHUNK_BYTES):
                digest.update(chunk)
                length += len(chunk)
        except ObjectNotFoundError as error:
            raise _missing(self.path) from error
        _check(self.info, length, digest.hexdigest(), path=self.path)

    def entries(self, at: int) -> list[Entry]:
        """Return the entries of a block, each with the version that added it."""
        return self.with_versions(decode_block(self.raw(at), self.header), self.blocks[at].block)

    def entries_with(self, at: int, paths: Sequence[str] | None) -> list[Entry]:
        """Return the entries of a block if its bytes contain one of the paths, else nothing.

        A record stores its path verbatim, so a block without these bytes cannot contain the entry,
        unless the path may be spelled differently. If `paths` is None, the block is always decoded.
        """
        raw = self.raw(at)
        body = open_block(raw, self.header)
        is_searched = paths is not None and len(paths) <= _SEARCHED_PATHS
        is_searched = is_searched and not any(mark in body for mark in _MARKS_OF_SPELLINGS)
        if is_searched and not any(
            path.encode(errors="surrogateescape") in body for path in paths or ()
        ):
            return []
        decoded = decode_records(body, raw.count, self.header)
        return self.with_versions(decoded, self.blocks[at].block)

    def with_versions(self, entries: list[Entry], block: IndexedBlock) -> list[Entry]:
        """Return entries by our field names, with the versions that they inherit."""
        inherited = self.inherited_version(block)
        known = self._reading.converted(entries)
        for entry in known:
            if not entry["addedAtVersion"]:
                entry["addedAtVersion"] = inherited
        return known

    def inherited_version(self, block: IndexedBlock) -> int:
        """Return the version that entries of a block inherit if their `addedAtVersion` is 0."""
        if block.added_at_version is not None:
            return block.added_at_version
        return self.info.min_added_at_version


def open_manifest(
    store: Store,
    root: str,
    info: ManifestInfo,
    *,
    state_version: int,
    types: Mapping[str, DataType],
) -> ManifestFile:
    """Open a manifest of a state.

    Raises:
        CorruptStateError: it is missing, damaged, or does not match its state.
        UnsafePathError: its path points outside of the root.
    """
    path = resolve_manifest(root, info.path, state_version=state_version)
    try:
        if info.header_bytes > 0:
            with store.open(path) as file:
                start = file.read(info.header_bytes)
            check_header(start, info, path=path)
            header = read_header(start, path=path)
            index = None if header is None else decode_index(header)
            if header is not None and index is not None:
                blocks = tuple(place_blocks(index, header))
                _check_index(blocks, info, path=path)
                return ManifestFile(store, path, info, header=header, blocks=blocks)
        content = store.read(path)
    except ObjectNotFoundError as error:
        raise _missing(path) from error
    check_content(content, info, path=path)
    header = read_header(content, path=path)
    if header is None:
        raise CorruptStateError(path=path, reason="the file ends within its header")
    index = decode_index(header)
    blocks = tuple(place_blocks(index, header)) if index else _described(content, header, types)
    _check_index(blocks, info, path=path)
    return ManifestFile(
        store,
        path,
        info,
        header=header,
        blocks=blocks,
        content=content,
        is_sorted=index is not None,
    )


def check_content(content: bytes, info: ManifestInfo, *, path: str) -> None:
    """Check a manifest against the length and digest in its state.

    Raises:
        CorruptStateError: they differ.
    """
    _check(info, len(content), sha256(content).hexdigest(), path=path)


def _check(info: ManifestInfo, length: int, digest: str, *, path: str) -> None:
    if info.length_bytes not in {UNKNOWN_COUNT, length}:
        reason = f"it has {length} bytes, but its state records {info.length_bytes}"
        raise CorruptStateError(path=path, reason=reason)
    if info.sha256 not in {None, digest}:
        raise CorruptStateError(path=path, reason="its digest differs from the one in its state")


def _missing(path: str) -> CorruptStateError:
    return CorruptStateError(
        path=path, reason="a state references this manifest, but it is missing"
    )


def _check_index(blocks: tuple[PlacedBlock, ...], info: ManifestInfo, *, path: str) -> None:
    count = sum(placed.block.count for placed in blocks)
    if count != info.num_entries:
        reason = f"it has {count} entries, but its state records {info.num_entries}"
        raise CorruptStateError(path=path, reason=reason)


def _described(
    content: bytes, header: Header, types: Mapping[str, DataType]
) -> tuple[PlacedBlock, ...]:
    """Build the block index of a file that has none, by decoding it."""
    at = header.length_bytes
    blocks = []
    reading = EntryReading(header)
    for raw in split_blocks(memoryview(content)[at:], header):
        entries = reading.converted(decode_block(raw, header))
        if entries:
            length = len(raw.framed(header.sync))
            described = describe_entries(entries, types, length_bytes=length)
            blocks.append(PlacedBlock(at, described))
        at += len(raw.framed(header.sync))
    return tuple(blocks)


class ManifestShelf:
    """Opens each manifest once and keeps it open for the attempts of one commit.

    The paths of its manifests are relative to the root, as `read_base` returns them.
    """

    def __init__(
        self, store: Store, root: str, *, types: Mapping[str, DataType], parallelism: int = 1
    ) -> None:
        """Start without open manifests; `parallelism` limits how many are read at a time."""
        self._store = store
        self._root = root
        self._types = types
        self._parallelism = parallelism
        self._open: dict[str, ManifestFile] = {}

    def file(self, info: ManifestInfo) -> ManifestFile:
        """Return the manifest of an info, opened at most once.

        Raises:
            CorruptStateError: it is missing or damaged.
        """
        file = self._open.get(info.path)
        if file is None:
            file = open_manifest(self._store, self._root, info, state_version=0, types=self._types)
            self._open[info.path] = file
        return file

    def each(self, read: Callable[[ManifestInfo], R], infos: Iterable[ManifestInfo]) -> list[R]:
        """Return what a function returns for each manifest; it is called concurrently."""
        return read_each(read, infos, store=self._store, at_once=self._parallelism)
