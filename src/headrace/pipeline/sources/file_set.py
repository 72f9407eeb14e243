"""The set of files that a scan of a source reads, and its digest.

Files are Arrow columns; the digest does not depend on their order or on the machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("dv_id", pa.string()),
        pa.field("stamp", pa.string()),
        pa.field("partition", pa.string()),
        pa.field("size_bytes", pa.int64()),
    ]
)
"""The columns of a file set. A log identifies a file by its path and deletion-vector id; size,
partition values and `stamp`, the modification time in the log, show whether it is the same file
with the same rows. Without a log, `stamp` is a hash of the content."""

_IDENTITY = ("path", "dv_id", "stamp", "partition")
_FORMAT = b"files 3"
_NULL = pa.scalar("-")


@dataclass(frozen=True)
class FileSet:
    """The files of a source that remain after pruning, sorted, and the number before pruning."""

    files: pa.Table
    total: int

    @classmethod
    def of(cls, batches: Iterable[Any], *, total: int) -> "FileSet":
        """Collect batches with columns of `FILES`; missing columns become null."""
        table = pa.Table.from_batches([_with_all_columns(batch) for batch in batches], FILES)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in _IDENTITY])
        return cls(table.take(order), total)

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @cached_property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return pc.sum(self.files["size_bytes"]).as_py() or 0

    def names(self) -> set[tuple[str, str | None]]:
        """Return the path and deletion-vector id of each file, as in the log."""
        paths, vectors = self.files["path"].to_pylist(), self.files["dv_id"].to_pylist()
        return set(zip(paths, vectors, strict=True))

    @cached_property
    def digest(self) -> str:
        """The digest: equal for equal sets of files, on every machine."""
        hashed = sha256(_FORMAT)
        hashed.update(len(self).to_bytes(8, "little"))
        for name in _IDENTITY:
            for part in _text_parts(self.files[name]):
                hashed.update(part)
        hashed.update(_little_endian(self.files["size_bytes"]))
        return hashed.hexdigest()


def partition_texts(values: Any) -> pa.Array:
    """Encode the partition values of each file, a map of strings, as one unambiguous string.

    All maps must have the same keys in the same order, as the maps of a scan do.
    """
    size = len(values)
    width = len(values.keys) // size if size else 0
    if not width:
        return pa.nulls(size, pa.string())
    items = values.items
    columns = [items.take(pa.array(np.arange(k, size * width, width))) for k in range(width)]
    return pc.binary_join_element_wise(*(_prefixed(column) for column in columns), ",")


def _prefixed(texts: pa.Array) -> pa.Array:
    """Prefix each string with its length, so that joined strings are unambiguous; null is `-`."""
    length = pc.binary_length(texts).cast(pa.string())
    return pc.fill_null(pc.binary_join_element_wise(length, texts, ":"), _NULL)


def _text_parts(column: pa.ChunkedArray) -> Iterable[bytes | memoryview]:
    """Encode a column unambiguously: the lengths (-1 for null), then the strings."""
    yield _little_endian(pc.binary_length(column))
    for chunk in column.chunks:
        texts = pc.fill_null(chunk, "").cast(pa.large_binary())
        _, offsets, data = texts.buffers()
        if data is not None:
            ends = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1]
            yield memoryview(data)[ends[0] : ends[-1]]


def _little_endian(numbers: pa.ChunkedArray) -> bytes:
    values = pc.fill_null(numbers.cast(pa.int64()), -1).to_numpy()
    return bytes(values.astype("<i8").tobytes())


def _with_all_columns(batch: Any) -> Any:
    """Return a batch with all columns of `FILES`; missing ones are null."""
    names = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in names
        else pa.nulls(batch.num_rows, field.type)
        for field in FILES
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FILES)
