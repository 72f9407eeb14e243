"""Rewrites manifests: merges them, drops entries, and copies blocks unchanged where possible.

Manifests enter; new ones leave one by one, in partition order, each with a bounded number of
entries. A block is copied in compressed form unless one of its entries is dropped, it is too small
to be worth a block, its schema or codec differs, or it mixes partitions that other blocks also
contain.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from headrace.avro.block_index import IndexedBlock
from headrace.avro.manifest import ManifestWriter, WrittenManifest
from headrace.errors import CorruptStateError
from headrace.maintain.entry_schema import same_shape, union_schema
from headrace.maintain.entry_sort import EntrySort
from headrace.maintain.home import codec_of
from headrace.maintain.manifest_file import ManifestFile
from headrace.maintain.parallel import read_each
from headrace.maintain.setting import StateSettings
from headrace.protocol.partition_bounds import sort_key
from headrace.protocol.schema import DataType
from headrace.protocol.state import Entry, PartitionBounds
from headrace.protocol.state_schema import Schema
from headrace.protocol.value import FLOATS
from headrace.storage.store import Store

HELD_BYTES = 256 << 20
"""Manifests smaller than this in total are read once and held; larger ones block by block."""
MIN_COPIED_ENTRIES = 64
"""A smaller block is decoded, so that the small blocks of a partition are merged."""


class Dropping(Protocol):
    """Decides which entries are left out of the new manifests."""

    def hides(self, entry: Entry) -> bool:
        """Whether an entry is dropped."""

    def may_hide(self, min_path: str, max_path: str) -> bool:
        """Whether an entry with a path in this range may be dropped."""


class RewriteCount(msgspec.Struct, kw_only=True):
    """The progress of a rewrite."""

    entries_in: int = 0
    entries_dropped: int = 0
    bytes_dropped: int = 0
    entries_out: int = 0
    bytes_out: int = 0
    blocks_copied: int = 0
    entries_copied: int = 0
    entries_decoded: int = 0
    refs: set[str] | None = msgspec.field(default_factory=set)
    """The registry keys of the retained entries; None if a copied block does not list them."""


def total_count(counts: Iterable[RewriteCount]) -> RewriteCount:
    """Return the sum of the counts of several rewrites."""
    total = RewriteCount()
    for count in counts:
        for name in _SUMMED:
            setattr(total, name, getattr(total, name) + getattr(count, name))
        is_known = total.refs is not None and count.refs is not None
        total.refs = (total.refs or set()) | (count.refs or set()) if is_known else None
    return total


_SUMMED = tuple(name for name in RewriteCount.__struct_fields__ if name != "refs")


class _InputBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block of the input, with its range in partition order."""

    file: ManifestFile
    at: int
    low: tuple[Any, ...]
    high: tuple[Any, ...]
    is_single: bool
    """Whether all its entries are in one partition."""

    @property
    def block(self) -> IndexedBlock:
        return self.file.blocks[self.at].block

    @property
    def position(self) -> tuple[Any, str]:
        return self.low, self.block.min_path


class Rewrite:
    """One rewrite of some manifests of a state."""

    def __init__(  # noqa: PLR0913  (shared by all blocks)
        self,
        files: Sequence[ManifestFile],
        *,
        store: Store,
        dropping: Dropping,
        types: Mapping[str, DataType],
        settings: StateSettings,
        schema: Schema,
        only: Mapping[ManifestFile, Collection[int]] | None = None,
    ) -> None:
        """Prepare to rewrite all blocks of these files, or `only` some of them."""
        self._files = files
        self._store = store
        self._dropping = dropping
        self.types = types
        self._settings = settings
        self.schema = union_schema(schema, [file.header for file in files])
        self._only = only
        self.count = RewriteCount(
            entries_in=sum(file.blocks[at].block.count for file, at in self._block_indexes())
        )

    def manifests(self) -> Iterator[WrittenManifest]:
        """Yield the new manifests, in order; none if every entry is dropped.

        Raises:
            CorruptStateError: an input is damaged, or the counts do not add up at the end.
        """
        held_bytes = sum(max(file.info.length_bytes, 0) for file in self._files)
        read_each(
            lambda file: file.verify(hold=held_bytes <= HELD_BYTES),
            [file for file in self._files if self._only is None or not file.has_checksums],
            store=self._store,
            at_once=self._settings.read_parallelism,
        )
        placed, loose = self._sorted_inputs()
        with EntrySort(self.types, schema=self.schema) as sort:
            for input_block in loose:
                sort.add(self._survivors(input_block))
            yield from self._merged(placed, sort)
        count = self.count
        if count.entries_in - count.entries_dropped != count.entries_out:
            reason = (
                f"of {count.entries_in} entries read, {count.entries_dropped} were dropped, but "
                f"{count.entries_out} were written"
            )
            raise CorruptStateError(path=self._files[0].path, reason=reason)

    def divided(self, most_entries: int) -> Iterator[dict[ManifestFile, list[int]]]:
        """Divide the blocks, in partition order, into parts of about `most_entries`.

        Blocks whose partition ranges overlap stay together, unless each has a single partition.
        """
        placed, loose = self._sorted_inputs()
        ordered = sorted(
            (*placed, *loose),
            key=lambda input_block: (input_block.low, input_block.high, input_block.position),
        )
        part: dict[ManifestFile, list[int]] = {}
        entries = 0
        for group in _overlapping(ordered):
            count = sum(input_block.block.count for input_block in group)
            if part and entries + count > most_entries:
                yield part
                part, entries = {}, 0
            for input_block in group:
                part.setdefault(input_block.file, []).append(input_block.at)
            entries += count
        if part:
            yield part

    def _block_indexes(self) -> Iterator[tuple[ManifestFile, int]]:
        for file in self._files:
            for at in range(len(file.blocks)):
                if self._only is None or at in self._only[file]:
                    yield file, at

    def _merged(self, placed: list[_InputBlock], sort: EntrySort) -> Iterator[WrittenManifest]:
        """Merge blocks and loose entries in order, and cut them into manifests."""
        writer = self._writer()
        input_blocks = ((input_block.position, 0, input_block) for input_block in placed)
        entries = ((sort.key(entry), 1, entry) for entry in sort.sorted())
        streams: list[Iterator[tuple[Any, int, Any]]] = [input_blocks, entries]
        for _, _, item in heapq.merge(*streams, key=lambda item: item[:2]):
            if isinstance(item, _InputBlock) and self._is_copied(item):
                if writer.count and writer.count + item.block.count > self._limit:
                    yield self._finished(writer)
                    writer = self._writer()
                self._copy(item, writer)
                continue
            for entry in self._survivors(item) if isinstance(item, _InputBlock) else [item]:
                if writer.count >= self._limit:
                    yield self._finished(writer)
                    writer = self._writer()
                writer.append([entry])
                self._note_ref(entry.get("docMappingRef"))
        if writer.count:
            yield self._finished(writer)

    @property
    def _limit(self) -> int:
        return self._settings.entries_per_manifest

    def _writer(self) -> ManifestWriter:
        return ManifestWriter(
            schema=self.schema,
            codec=codec_of(self._settings),
            partition_types=self.types,
            block_entries=self._settings.entries_per_block,
        )

    def _finished(self, writer: ManifestWriter) -> WrittenManifest:
        written = writer.finish()
        self.count.entries_out += written.info.num_entries
        self.count.bytes_out += written.info.live_bytes
        return written

    def _copy(self, input_block: _InputBlock, writer: ManifestWriter) -> None:
        block = input_block.block
        inherited = input_block.file.inherited_version(block)
        if not block.min_version and inherited:
            block = msgspec.structs.replace(
                block,
                min_version=inherited,
                max_version=max(block.max_version, inherited),
                added_at_version=inherited,
            )
        writer.append_block(input_block.file.raw(input_block.at), block)
        self.count.blocks_copied += 1
        self.count.entries_copied += block.count
        if block.refs is None:
            self.count.refs = None
        elif self.count.refs is not None:
            self.count.refs.update(block.refs)

    def _survivors(self, input_block: _InputBlock) -> list[Entry]:
        entries = input_block.file.entries(input_block.at)
        self.count.entries_decoded += len(entries)
        if not self._may_drop(input_block):
            return entries
        survivors = []
        for entry in entries:
            if self._dropping.hides(entry):
                self.count.entries_dropped += 1
                self.count.bytes_dropped += entry["size"]
            else:
                survivors.append(entry)
        return survivors

    def _note_ref(self, ref: str | None) -> None:
        if ref is not None and self.count.refs is not None:
            self.count.refs.add(ref)

    def _sorted_inputs(self) -> tuple[list[_InputBlock], list[_InputBlock]]:
        """Return the blocks that can be merged whole, in order, and those to decode and sort."""
        input_blocks = sorted(
            (self._input_block(file, at) for file, at in self._block_indexes()),
            key=lambda input_block: (input_block.low, input_block.high, input_block.block.min_path),
        )
        placed: list[_InputBlock] = []
        loose: list[_InputBlock] = []
        for group in _overlapping(input_blocks):
            for input_block in group:
                is_alone = len(group) == 1 and input_block.file.is_sorted
                (placed if input_block.is_single or is_alone else loose).append(input_block)
        return placed, loose

    def _input_block(self, file: ManifestFile, at: int) -> _InputBlock:
        bounds = file.blocks[at].block.bounds or {}
        low, high = corner(bounds, self.types, 0), corner(bounds, self.types, 1)
        is_known = all(name in bounds for name in self.types)
        return _InputBlock(file=file, at=at, low=low, high=high, is_single=is_known and low == high)

    def _is_copied(self, input_block: _InputBlock) -> bool:
        header = input_block.file.header
        return (
            MIN_COPIED_ENTRIES <= input_block.block.count <= self._limit
            and not self._may_drop(input_block)
            and header.codec.name is codec_of(self._settings).name
            and same_shape(header.schema, self.schema)
        )

    def _may_drop(self, input_block: _InputBlock) -> bool:
        return self._dropping.may_hide(input_block.block.min_path, input_block.block.max_path)


def _overlapping(input_blocks: list[_InputBlock]) -> Iterator[list[_InputBlock]]:
    """Yield groups of blocks, in order, such that no two groups overlap."""
    group: list[_InputBlock] = []
    high: tuple[Any, ...] = ()
    for input_block in input_blocks:
        if group and input_block.low >= high:
            yield group
            group = []
        high = max(high, input_block.high) if group else input_block.high
        group.append(input_block)
    if group:
        yield group


def corner(
    bounds: Mapping[str, PartitionBounds], types: Mapping[str, DataType], side: int
) -> tuple[Any, ...]:
    """Return the lowest (side 0) or highest (side 1) position of an entry within bounds."""
    key: list[Any] = []
    for name, kind in types.items():
        bound = bounds.get(name)
        if bound is None:
            key.append((side * 9, None))
            continue
        has_nan = kind in FLOATS and bound.contains_nan is not False
        if side == 0 and bound.contains_null is not False:
            text = None
        elif has_nan and (side == 1 or bound.min is None):
            text = "NaN"
        else:
            text = bound.max if side else bound.min
        if side and text is None and bound.contains_null is None:
            key.append((9, None))
        else:
            key.append(sort_key({name: text}, {name: kind})[0])
    return tuple(key)
