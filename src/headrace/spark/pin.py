"""The pin of a DataFrame: the files of a table that it reads, and their transfer to Spark.

The kernel yields files as Arrow batches. They are written to a stream on disk, which the JVM reads
once. Python keeps only the pin and the locations of deletion vectors.
"""

import hashlib
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.scan.scan import Scan
from headrace.spark.file_system import spark_addresses
from headrace.storage.address import Address

FILE_COLUMNS = (
    "path",
    "uri",
    "dv_id",
    "deletion_vector",
    "size_bytes",
    "modified_ms",
    "typed_partition_values",
)
"""The columns of live files that a scan on Spark needs."""

READ_OPTIONS = {
    # A missing or incomplete file is an error whatever the session's settings are.
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # Delta uses one calendar; the session's setting is for files of other origins.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
"""Options of Spark's reader."""

_SHOWN_DIGITS = 12
_DIGESTED_AT_A_TIME = 1 << 16


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a DataFrame reads: those of one version, or some of them."""

    table: str
    version: int
    files: int
    size_bytes: int
    digest: str
    """SHA-256 of the paths and deletion vectors as in the log, sorted."""

    @property
    def identity(self) -> str:
        """Return the pin as text; DataFrames with equal texts read the same rows."""
        return f"{self.table}@{self.version},files={self.files},sha256={self.digest}"

    def __str__(self) -> str:
        name = self.table.rstrip("/").rpartition("/")[2]
        return f"{name}@{self.version},files={self.files},digest={self.digest[:_SHOWN_DIGITS]}"


class PinnedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A pin, and the deletion vectors of its files by position in the stream."""

    pin: Pin
    vector_ordinals: pa.Array
    vectors: pa.StructArray


def write_files(scan: Scan, path: Path, *, address: Address | None = None) -> PinnedFiles:
    """Write the files of a scan as an Arrow stream for `jvm_source/FileList.java`.

    Raises:
        PartitionValueError: a partition value does not have its column's type.
        UnsafePathError: a path is outside the table.
    """
    schema = scan.arrow_schema(columns=FILE_COLUMNS)
    tally = _Tally(schema)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, _stream(schema)) as writer:
        for batch in scan.batches(columns=FILE_COLUMNS):
            file_columns = [
                spark_addresses(batch["uri"], address),
                batch["size_bytes"],
                batch["modified_ms"],
            ]
            partitions = batch["typed_partition_values"].flatten()
            columns = [*file_columns, batch["dv_id"].is_valid(), *partitions]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_stream(schema)))
            tally.count(batch)
    return tally.pinned(scan)


def _stream(schema: pa.Schema) -> pa.Schema:
    """Return the columns of the stream, which are identified by position."""
    file_columns = [
        ("uri", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ms", pa.int64()),
        ("has_vector", pa.bool_()),
    ]
    return pa.schema([*file_columns, *schema.field("typed_partition_values").type])


class _Tally:
    """Accumulates the counts, keys and vectors of a pin while its files are written."""

    def __init__(self, schema: pa.Schema) -> None:
        self._keys = [pa.array([], pa.large_string())]
        self._ordinals = [pa.array([], pa.int64())]
        self._vectors = [pa.array([], schema.field("deletion_vector").type)]
        self._files = 0
        self._size_bytes = 0

    def count(self, batch: pa.RecordBatch) -> None:
        # Neither a path nor an id has control characters: two lists never have the same lines.
        vector = pc.binary_join_element_wise(pc.fill_null(batch["dv_id"], ""), "\n", "")
        keys = pc.binary_join_element_wise(batch["path"], vector, "\t")
        has_vector = batch["dv_id"].is_valid()
        self._keys.append(keys.cast(pa.large_string()))
        self._ordinals.append(pc.add(pc.indices_nonzero(has_vector).cast(pa.int64()), self._files))
        self._vectors.append(batch["deletion_vector"].filter(has_vector))
        self._files += batch.num_rows
        self._size_bytes += pc.sum(batch["size_bytes"], min_count=0).as_py()

    def pinned(self, scan: Scan) -> PinnedFiles:
        return PinnedFiles(
            pin=Pin(
                table=scan.request.table,
                version=scan.request.version,
                files=self._files,
                size_bytes=self._size_bytes,
                digest=_digest(self._keys),
            ),
            vector_ordinals=pa.concat_arrays(self._ordinals),
            vectors=pa.concat_arrays(self._vectors),
        )


def _digest(keys: list[pa.Array]) -> str:
    hashed = hashlib.sha256()
    all_keys = pa.chunked_array(keys)
    order = pc.sort_indices(all_keys)
    for start in range(0, len(order), _DIGESTED_AT_A_TIME):
        lines = all_keys.take(order.slice(start, _DIGESTED_AT_A_TIME))
        for chunk in lines.chunks:
            hashed.update(text_of(chunk))
    return hashed.hexdigest()


def text_of(lines: pa.LargeStringArray) -> memoryview:
    """Return all strings of an array without nulls as one buffer, without copying."""
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    bounds = memoryview(offsets).cast("q")
    return memoryview(data)[bounds[lines.offset] : bounds[lines.offset + len(lines)]]
