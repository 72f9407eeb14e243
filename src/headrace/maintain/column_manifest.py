"""Writes manifests from sorted columns of entries.

Batches of `ENTRY_COLUMNS` enter in partition order; manifests leave. Blocks and manifests end
where a `ManifestWriter` that gets the same entries one by one would end them.
"""

from collections.abc import Generator, Iterable, Iterator

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.block_index import IndexedBlock
from headrace.avro.column_encoder import EncodedRecords, encode_columns
from headrace.avro.manifest import MIN_ENTRIES, ManifestWriter, WrittenManifest
from headrace.maintain.entry_columns import KEY_HASH, PARTITION
from headrace.maintain.home import codec_of
from headrace.maintain.partition_code import Codes, PartitionCodes
from headrace.maintain.setting import StateSettings
from headrace.protocol import light
from headrace.protocol.key import path_range
from headrace.protocol.partition_bounds import BoundsBuilder
from headrace.protocol.state_schema import Schema


class ColumnManifests:
    """Cuts sorted columns into blocks and manifests."""

    def __init__(
        self, partitions: PartitionCodes, *, schema: Schema, settings: StateSettings
    ) -> None:
        self._partitions = partitions
        self._schema = schema
        self._settings = settings
        self._writer = self._new_writer()

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[WrittenManifest]:
        """Yield the manifests of all rows, each as soon as it is full."""
        rest: pa.RecordBatch | None = None
        for batch in batches:
            rows = batch if rest is None else pa.concat_batches([rest, batch])
            rest = yield from self._append(rows, is_last=False)
        if rest is not None and rest.num_rows:
            yield from self._append(rest, is_last=True)
        if self._writer.count:
            yield self._finish()

    def _append(
        self, rows: pa.RecordBatch, *, is_last: bool
    ) -> Generator[WrittenManifest, None, pa.RecordBatch]:
        """Append all blocks whose end is known; return the rows after them."""
        if not rows.num_rows:
            return rows
        chunk = _Chunk.of(rows, self._partitions, self._schema)
        start = 0
        while start < rows.num_rows:
            room = self._settings.entries_per_manifest - self._writer.count
            stop = chunk.block_end(start, most=min(self._settings.entries_per_block, room))
            if stop > rows.num_rows:
                if not is_last:
                    break
                stop = rows.num_rows
            self._writer.append_body(
                chunk.records.body(start, stop), chunk.describe(start, stop, self._partitions)
            )
            if self._writer.count >= self._settings.entries_per_manifest:
                yield self._finish()
            start = stop
        return rows.slice(start)

    def _finish(self) -> WrittenManifest:
        written, self._writer = self._writer.finish(), self._new_writer()
        return written

    def _new_writer(self) -> ManifestWriter:
        return ManifestWriter(
            schema=self._schema,
            codec=codec_of(self._settings),
            partition_types=self._partitions.types,
            block_entries=self._settings.entries_per_block,
        )


class _Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Sorted rows with their encoded records."""

    rows: pa.RecordBatch
    records: EncodedRecords
    codes: Codes
    changes: npt.NDArray[np.int64]
    """The rows whose partition differs from that of the row before."""

    @classmethod
    def of(cls, rows: pa.RecordBatch, partitions: PartitionCodes, schema: Schema) -> "_Chunk":
        codes = light.to_numpy(rows.column(PARTITION))
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        del columns[PARTITION], columns[KEY_HASH]
        columns["partitionValues"] = partitions.maps(codes)
        columns["dataChange"] = light.from_numpy(np.ones(rows.num_rows, np.bool_))
        return cls(
            rows=rows,
            records=encode_columns(columns, schema),
            codes=codes,
            changes=np.flatnonzero(codes[1:] != codes[:-1]) + 1,
        )

    def block_end(self, start: int, *, most: int) -> int:
        """Return the row after a block; beyond the last row if the block may continue there."""
        change = int(np.searchsorted(self.changes, start + MIN_ENTRIES))
        if change < len(self.changes):
            return min(start + most, int(self.changes[change]))
        return start + most

    def describe(self, start: int, stop: int, partitions: PartitionCodes) -> IndexedBlock:
        """Return the index entry of a block."""
        rows = self.rows.slice(start, stop - start)
        bounds = BoundsBuilder(partitions.types)
        # Of values that are equal but spelled differently, the first one becomes the bound.
        distinct, first_rows = np.unique(self.codes[start:stop], return_index=True)
        for code in distinct[np.argsort(first_rows)].tolist():
            bounds.add(partitions.values(code))
        versions, timestamps = (
            pc.min_max(rows.column(name)).as_py() for name in ("addedAtVersion", "addedAtTimestamp")
        )
        min_path, max_path = _path_range(rows.column("path"))
        return IndexedBlock(
            length_bytes=0,
            count=stop - start,
            total_bytes=sum(light.to_numpy(rows.column("size")).tolist()),
            min_version=versions["min"],
            max_version=versions["max"],
            min_timestamp=timestamps["min"],
            max_timestamp=timestamps["max"],
            min_path=min_path,
            max_path=max_path,
            bounds=bounds.bounds() if partitions.types else None,
            refs=(),
        )


def _path_range(paths: pa.Array) -> tuple[str, str]:
    extremes = pc.min_max(paths).as_py()
    # Only these may have another canonical form.
    marked = paths.filter(pc.match_substring_regex(paths, "%|^file:/"))
    return path_range([extremes["min"], extremes["max"], *marked.to_pylist()])
