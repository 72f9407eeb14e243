"""Scans manifests, and returns their matching, visible entries as adds.

Manifests are pruned by the bounds in their state, blocks by those in the block index. Several
threads decode the remaining blocks, a few at a time.
"""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.columns import decode_columns
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.manifest.entry_statistics import statistics_texts
from headrace.engines.arrow.manifest.file import BlockToRead, ManifestStore, OpenManifest
from headrace.engines.computed import computed
from headrace.engines.producer import in_order, in_parallel
from headrace.errors import CorruptStateError
from headrace.plan.context import ExecutionContext
from headrace.plan.leaf import FusedLeaf
from headrace.plan.node import ScanAvro
from headrace.protocol import light
from headrace.protocol.action import logged_vector_id
from headrace.protocol.key import canonical_path
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import AddedAfter, ManifestInfo, Tombstones
from headrace.replay.match import SeenMatcher
from headrace.replay.partition_pruning import parts_to_read
from headrace.replay.skipping import keep_mask
from headrace.storage.store import RequestCost, Store

_FETCHED_AHEAD = 8
"""The number of remote manifests that are being fetched, or wait to be read."""
_STATISTICS_FIELDS = ("numRecords", "minValues", "maxValues")
_VERSIONS = ("addedAtVersion", "addedAtTimestamp")


class _BlockGroup(msgspec.Struct, frozen=True):
    """Some blocks of a manifest: the unit of work of a thread."""

    manifest: OpenManifest
    blocks: tuple[BlockToRead, ...]


class ManifestScan:
    """Reads the leaves of one state, for one execution."""

    def __init__(
        self, store: Store, leaf: FusedLeaf[ScanAvro], *, context: ExecutionContext
    ) -> None:
        self._manifests = ManifestStore(store)
        self._is_remote = store.request_cost is RequestCost.REMOTE
        self._leaf = leaf
        self._context = context
        self._scan = leaf.scans[0]
        self._matcher = SeenMatcher(leaf.seen) if leaf.seen else None
        self._add_fields = tuple(
            dict.fromkeys(column.split(".")[1] for column in self._scan.columns)
        )

    def batches(self) -> Iterator[ColumnBatch]:
        """Yield the adds, in any order."""
        threads = self._context.settings.leaf_parallelism
        yield from in_parallel(self._read, self._pieces(), threads=threads)

    @computed
    def _tombstones(self) -> "_TombstoneIndex | None":
        tombstones = self._scan.tombstones
        return _TombstoneIndex(tombstones) if len(tombstones) else None

    @computed
    def _fields(self) -> tuple[str, ...]:
        """The fields of entries to decode."""
        fields = [name for name in self._add_fields if name != "stats_parsed"]
        if "stats" in fields and self._scan.statistics_schema is not None:
            fields += _STATISTICS_FIELDS
        if self._tombstones is not None:
            fields += ["path", "deletionVector"]
        if self._tombstones is not None or self._scan.added_after is not None:
            fields += _VERSIONS
        return tuple(dict.fromkeys(fields))

    def _pieces(self) -> Iterator[_BlockGroup]:
        batch_rows = self._context.settings.batch_rows
        for manifest in self._open():
            self._context.cancellation.check()
            waiting: list[BlockToRead] = []
            rows = 0
            for block in manifest.blocks:
                waiting.append(block)
                rows += block.block.count
                if rows >= batch_rows:
                    yield _BlockGroup(manifest, tuple(waiting))
                    waiting, rows = [], 0
            if waiting:
                yield _BlockGroup(manifest, tuple(waiting))

    def _open(self) -> Iterator[OpenManifest]:
        """Yield the manifests that may hold matching entries, as they are fetched."""
        manifests = list(self._chosen())
        threads = min(_FETCHED_AHEAD, len(manifests)) if self._is_remote else 1
        fetched = in_order(self._fetch, manifests, threads=threads, name="headrace-manifest")
        size_bytes = sum(info.length_bytes for _, info in manifests)
        with closing(fetched) as opened:
            yield from map(
                self._counted,
                self._held(opened) if size_bytes <= self._scan.held_bytes else opened,
            )

    def _held(self, opened: Iterator[OpenManifest]) -> Iterator[OpenManifest]:
        """Fetch and check all manifests, then yield them one by one."""
        held: deque[OpenManifest] = deque()
        for manifest in opened:
            self._context.cancellation.check()
            held.append(manifest)
        while held:
            yield held.popleft()

    def _fetch(self, listed: tuple[LogFile, ManifestInfo]) -> OpenManifest:
        file, info = listed
        return self._manifests.read(file, info, self._scan.predicate)

    def _counted(self, manifest: OpenManifest) -> OpenManifest:
        rows = manifest.info.num_entries
        self._context.meter.count(
            total_metadata_rows=rows,
            rows_from_checkpoint=rows,
            rows_filtered_by_partition_pruning=manifest.skipped_rows,
            row_groups_skipped=manifest.skipped_blocks,
            manifests_read=1,
            manifest_entries_read=rows - manifest.skipped_rows,
        )
        return manifest

    def _chosen(self) -> Iterator[tuple[LogFile, ManifestInfo]]:
        """Yield the manifests that the bounds in their state do not prune."""
        every = [
            (file, info)
            for scan in self._leaf.scans
            for file, info in zip(scan.files, scan.manifests, strict=True)
        ]
        keep = parts_to_read(self._scan.predicate, [info.partition_bounds for _, info in every])
        after = self._scan.added_after
        for (file, info), is_needed in zip(every, keep, strict=True):
            if is_needed and (after is None or after.may_have(info)):
                yield file, info
            elif not is_needed:
                self._context.meter.count(
                    total_metadata_rows=info.num_entries,
                    rows_from_checkpoint=info.num_entries,
                    rows_filtered_by_partition_pruning=info.num_entries,
                    row_groups_skipped=1,
                )

    def _read(self, groups: Iterator[_BlockGroup]) -> Generator[ColumnBatch, None, None]:
        for group in groups:
            self._context.cancellation.check()
            batch = self._adds(group)
            if len(batch):
                yield batch

    def _adds(self, group: _BlockGroup) -> ColumnBatch:
        manifest = group.manifest
        raw = [to_read.block for to_read in group.blocks]
        entries = decode_columns(raw, manifest.header, self._fields)
        entries = self._visible(entries, group)
        adds = _add_struct(entries, self._add_fields, self._scan)
        batch = ColumnBatch(manifest.file, pa.RecordBatch.from_arrays([adds], ["add"]))
        if not len(batch):
            return batch
        if self._leaf.predicate is not None:
            keep = keep_mask(self._leaf.predicate, batch)
            skipped = len(keep) - keep.true_count
            self._context.meter.count(rows_filtered_by_data_skipping=skipped)
            batch = batch.filter(keep)
        if self._matcher is not None and len(batch):
            paths, vectors = batch.field("path"), batch.field("deletionVector")
            batch = batch.without(self._matcher.seen_rows(paths, vectors))
        return batch

    def _visible(self, entries: pa.RecordBatch, group: _BlockGroup) -> pa.RecordBatch:
        """Return the entries that no tombstone hides and that are new enough."""
        tombstones, after = self._tombstones, self._scan.added_after
        if tombstones is None and after is None:
            return entries
        versions = _versions(entries, group)
        if tombstones is not None:
            hidden_rows = tombstones.rows(entries, versions)
            if len(hidden_rows):
                keep = np.ones(entries.num_rows, dtype=np.bool_)
                keep[hidden_rows] = False
                entries, versions = entries.filter(light.from_numpy(keep)), versions[keep]
        if after is not None:
            entries = entries.filter(light.from_numpy(_newer(entries, versions, after)))
        return entries


class _TombstoneIndex:
    """An index of the tombstones of a state."""

    def __init__(self, tombstones: Tombstones) -> None:
        self._paths = frozenset(map(canonical_path, tombstones.paths))
        self._versions: dict[tuple[str, str | None], int] = {}
        for tombstone in tombstones.entries:
            key = canonical_path(tombstone.path), tombstone.dv_id
            self._versions[key] = max(
                tombstone.removed_at_version, self._versions.get(key, tombstone.removed_at_version)
            )
        spellings = (*tombstones.paths, *(tombstone.path for tombstone in tombstones.entries))
        canonical = map(canonical_path, spellings)
        # Bytes that are not UTF-8 become surrogates, which no stored path has.
        stored = (p for p in canonical if p.isascii() or p.encode(errors="ignore").decode() == p)
        self._known = light.array({*spellings, *stored}, pa.string())

    def rows(self, entries: pa.RecordBatch, versions: np.ndarray[Any, Any]) -> list[int]:
        """Return the numbers of the hidden rows."""
        paths = entries.column("path")
        # Paths that may be spelled differently from their tombstone are checked one by one.
        doubtful = pc.or_(
            pc.is_in(paths, value_set=self._known), pc.match_substring_regex(paths, "[%:]")
        )
        rows = np.flatnonzero(light.to_numpy(doubtful))
        if not len(rows):
            return []
        some = paths.take(light.from_numpy(rows)).to_pylist()
        ids = _vector_ids(entries, rows)
        return [
            int(row)
            for row, path, dv_id in zip(rows, some, ids, strict=True)
            if self._is_hidden(canonical_path(path), dv_id, int(versions[row]))
        ]

    def _is_hidden(self, path: str, dv_id: str | None, version: int) -> bool:
        if path in self._paths:
            return True
        removed_at = self._versions.get((path, dv_id))
        return removed_at is not None and version < removed_at


def _vector_ids(entries: pa.RecordBatch, rows: np.ndarray[Any, Any]) -> list[str | None]:
    if "deletionVector" not in entries.schema.names:
        return [None] * len(rows)
    vectors = entries.column("deletionVector").take(light.from_numpy(rows)).to_pylist()
    return [logged_vector_id(vector) for vector in vectors]


def _versions(entries: pa.RecordBatch, group: _BlockGroup) -> np.ndarray[Any, Any]:
    """Return the version that added each entry: from the entry, its block or its manifest."""
    if "addedAtVersion" not in entries.schema.names:
        return np.full(entries.num_rows, group.manifest.info.min_added_at_version)
    recorded: np.ndarray[Any, Any] = light.to_numpy(entries.column("addedAtVersion"))
    if (recorded != 0).all():
        return recorded
    fallback = group.manifest.info.min_added_at_version
    inherited = [
        fallback if to_read.added_at_version is None else to_read.added_at_version
        for to_read in group.blocks
    ]
    by_row = np.repeat(inherited, [to_read.block.count for to_read in group.blocks])
    return np.where(recorded == 0, by_row, recorded)


def _newer(
    entries: pa.RecordBatch, versions: np.ndarray[Any, Any], after: AddedAfter
) -> np.ndarray[Any, Any]:
    keep = np.ones(entries.num_rows, dtype=np.bool_)
    if after.version is not None:
        keep &= versions > after.version
    if after.timestamp_ms is not None:
        keep &= light.to_numpy(entries.column("addedAtTimestamp")) > after.timestamp_ms
    return keep


def _add_struct(entries: pa.RecordBatch, fields: tuple[str, ...], scan: ScanAvro) -> pa.StructArray:
    """Build the requested fields of adds from entries."""
    names = set(entries.schema.names)
    arrays = {name: entries.column(name) for name in fields if name in names}
    if "stats" in fields and scan.statistics_schema is not None:
        arrays["stats"] = statistics_texts(entries, scan.statistics_schema)
    for required in ("path", "size"):
        if required in fields and required not in arrays:
            reason = f"its entries have no {required}"
            raise CorruptStateError(path=scan.files[0].path, reason=reason)
    if not arrays:
        return pa.nulls(entries.num_rows, pa.struct([]))
    return pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays))
