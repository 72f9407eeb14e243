"""The files that a scan of a source needs, and a digest of them.

Held as Arrow columns; the digest does not depend on the order in which files were found.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

_SEPARATOR = "\x1f"
FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("dv_id", pa.string()),
        pa.field("stamp", pa.string()),
        pa.field("size_bytes", pa.int64()),
    ]
)
"""What is known of each file: its path and its deletion vector's id identify it in a log; where
there is no log, a stamp tells whether it is still the same."""


class FileSet(msgspec.Struct, frozen=True):
    """The files that are kept of a source, sorted, and how many it has in all."""

    files: pa.Table
    total: int

    @classmethod
    def of(cls, batches: Iterable[Any], *, total: int) -> "FileSet":
        """Take batches that have the columns of `FILES`, or those of them that are known."""
        table = pa.Table.from_batches([_whole(batch) for batch in batches], FILES)
        order = pc.sort_indices(table, sort_keys=[("path", "ascending"), ("dv_id", "ascending")])
        return cls(table.take(order).combine_chunks(), total)

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return pc.sum(self.files["size_bytes"]).as_py() or 0

    @property
    def keys(self) -> pa.Array:
        """Each file as one text, made by `file_key`."""
        path, vector, stamp = (
            self.files[name].cast(pa.large_string()) for name in ("path", "dv_id", "stamp")
        )
        parts = (path, pc.fill_null(vector, ""), pc.fill_null(stamp, ""), _text(_SEPARATOR))
        return pc.binary_join_element_wise(*parts).combine_chunks()

    def digest(self) -> str:
        """The same for the same files, whatever order they came in."""
        lines = pc.binary_join_element_wise(self.keys, _text(""), _text("\n"))
        hashed = sha256(str(len(self)).encode())
        if len(self):
            hashed.update(lines.buffers()[2])
        return hashed.hexdigest()


def file_key(path: str, dv_id: str | None) -> str:
    """The text that stands for a file of a log."""
    return f"{path}{_SEPARATOR}{dv_id or ''}{_SEPARATOR}"


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())  # paths of many files outgrow 2 GB


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
