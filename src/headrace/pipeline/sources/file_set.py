"""The files that a scan of a source needs, and a digest of them.

Held as Arrow columns; the digest does not depend on the order in which files were found.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("dv_id", pa.string()),
        pa.field("size_bytes", pa.int64()),
    ]
)
"""What is known of each file: with its deletion vector's id, its path identifies it."""


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files that are kept of a source, sorted, and how many it has in all."""

    files: pa.Table
    total: int

    @classmethod
    def of(cls, batches: Iterable[Any], *, total: int) -> "FileSet":
        """Take batches that have the columns of `FILES`."""
        table = pa.Table.from_batches(
            [batch.select(FILES.names).cast(FILES) for batch in batches], FILES
        )
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
        """Each file as one text: its path, and behind a unit separator its vector's id."""
        vector = pc.fill_null(self.files["dv_id"], "")
        joined = pc.binary_join_element_wise(self.files["path"], vector, "\x1f")
        return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined

    def digest(self) -> str:
        """The same for the same files, whatever order they came in."""
        lines = pc.binary_join_element_wise(self.keys, "", "\n")
        hashed = sha256(str(len(self)).encode())
        if len(self):
            whole = pa.concat_arrays([lines])
            hashed.update(whole.buffers()[2])
        return hashed.hexdigest()
