"""The files that a scan of a source needs, and a digest of them.

Held as Arrow columns; the digest does not depend on the order in which files were found.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec
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
"""What is known of each file. In a log a file is identified by its path and the id of its deletion
vector; its size, its partition values and its stamp, the time of writing that the log has, tell
whether it is the same file with the same rows. Where there is no log, the stamp is a hash of the
content."""

_IDENTIFYING = ("path", "dv_id", "stamp", "partition")
_FORMAT = b"files 3"
_NULL = pa.scalar("-")


class FileSet(msgspec.Struct, frozen=True):
    """The files that are kept of a source, sorted, and how many it has in all."""

    files: pa.Table
    total: int

    @classmethod
    def of(cls, batches: Iterable[Any], *, total: int) -> "FileSet":
        """Take batches that have the columns of `FILES`, or those of them that are known."""
        table = pa.Table.from_batches([_whole(batch) for batch in batches], FILES)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in _IDENTIFYING])
        return cls(table.take(order), total)

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return pc.sum(self.files["size_bytes"]).as_py() or 0

    def names(self) -> set[tuple[str, str | None]]:
        """The path and the id of the deletion vector of each file, as the log has them."""
        paths, vectors = self.files["path"].to_pylist(), self.files["dv_id"].to_pylist()
        return set(zip(paths, vectors, strict=True))

    def digest(self) -> str:
        """The same for the same files, whatever order they came in and on every machine."""
        hashed = sha256(_FORMAT)
        hashed.update(len(self).to_bytes(8, "little"))
        for name in _IDENTIFYING:
            for part in _text_parts(self.files[name]):
                hashed.update(part)
        hashed.update(_little_endian(self.files["size_bytes"]))
        return hashed.hexdigest()


def partition_texts(values: Any) -> pa.Array:
    """Partition values, a map of texts for each file, as one unambiguous text for each.

    The maps must have the same keys in the same order, as those of a scan do.
    """
    size = len(values)
    width = len(values.keys) // size if size else 0
    if not width:
        return pa.nulls(size, pa.string())
    items = values.items
    columns = [items.take(pa.array(np.arange(k, size * width, width))) for k in range(width)]
    return pc.binary_join_element_wise(*(_prefixed(column) for column in columns), ",")


def _prefixed(texts: pa.Array) -> pa.Array:
    """Each text after its length, so that no text can pass for two; null is one of its own."""
    length = pc.binary_length(texts).cast(pa.string())
    return pc.fill_null(pc.binary_join_element_wise(length, texts, ":"), _NULL)


def _text_parts(column: pa.ChunkedArray) -> Iterable[bytes | memoryview]:
    """A column as bytes that stand for it alone: the lengths (-1 for null), then the texts."""
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


def _whole(batch: Any) -> Any:
    """A batch with all columns of `FILES`; those that it does not have are null."""
    known = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for field in FILES
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FILES)
