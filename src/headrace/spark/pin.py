"""A pin: which files of a table, at which version, a DataFrame reads, and their way into Spark.

The kernel gives the files in Arrow batches. They go into a stream on disk, which the JVM reads
once. What stays in Python is the pin itself and, of files with deletion vectors, where those are.
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
"""What of each live file a scan on Spark is made of."""

READ_OPTIONS = {
    # A file that is not there, or not whole, is an error whatever the session says.
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # Delta knows one calendar; the session's choice is for files of other origins.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
"""How Spark reads them."""

_SHOWN_DIGITS = 12
_DIGESTED_AT_A_TIME = 1 << 16


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """What a DataFrame reads, exactly: the files of one version, or some of them."""

    table: str
    version: int
    files: int
    size_bytes: int
    digest: str
    """SHA-256 over the paths and deletion vectors as the log has them, sorted."""

    @property
    def identity(self) -> str:
        """All of it as text: two DataFrames of the same one read the same rows."""
        return f"{self.table}@{self.version},files={self.files},sha256={self.digest}"

    def __str__(self) -> str:
        name = self.table.rstrip("/").rpartition("/")[2]
        return f"{name}@{self.version},files={self.files},digest={self.digest[:_SHOWN_DIGITS]}"


class PinnedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A pin, and the deletion vectors of its files by their place in the stream."""

    pin: Pin
    vector_ordinals: pa.Array
    vectors: pa.StructArray


def write_files(scan: Scan, path: Path, *, address: Address | None = None) -> PinnedFiles:
    """Write the files of a scan as an Arrow stream, as `jvm_source/FileList.java` reads it.

    Raises:
        PartitionValueError: a partition value is not of its column's type.
        UnsafePathError: a path leads out of the table.
    """
    schema = scan.arrow_schema(columns=FILE_COLUMNS)
    tally = _Tally(schema)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, _stream(schema)) as writer:
        for batch in scan.batches(columns=FILE_COLUMNS):
            own = [
                spark_addresses(batch["uri"], address),
                batch["size_bytes"],
                batch["modified_ms"],
            ]
            partitions = batch["typed_partition_values"].flatten()
            columns = [*own, batch["dv_id"].is_valid(), *partitions]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_stream(schema)))
            tally.count(batch)
    return tally.pinned(scan)


def _stream(schema: pa.Schema) -> pa.Schema:
    """The columns of the stream: their places count, not their names."""
    own = [
        ("uri", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ms", pa.int64()),
        ("has_vector", pa.bool_()),
    ]
    return pa.schema([*own, *schema.field("typed_partition_values").type])


class _Tally:
    """What is to be known of all files once they have been written."""

    def __init__(self, schema: pa.Schema) -> None:
        self._keys = [pa.array([], pa.large_string())]
        self._ordinals = [pa.array([], pa.int64())]
        self._vectors = [pa.array([], schema.field("deletion_vector").type)]
        self._files = 0
        self._size_bytes = 0

    def count(self, batch: pa.RecordBatch) -> None:
        # Neither a path nor an id has control characters: two lists never give the same lines.
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
    found = hashlib.sha256()
    every = pa.chunked_array(keys)
    order = pc.sort_indices(every)
    for start in range(0, len(order), _DIGESTED_AT_A_TIME):
        lines = every.take(order.slice(start, _DIGESTED_AT_A_TIME))
        for chunk in lines.chunks:
            found.update(text_of(chunk))
    return found.hexdigest()


def text_of(lines: pa.LargeStringArray) -> memoryview:
    """All texts of an array without nulls, one after the other, without a copy."""
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    bounds = memoryview(offsets).cast("q")
    return memoryview(data)[bounds[lines.offset] : bounds[lines.offset + len(lines)]]
