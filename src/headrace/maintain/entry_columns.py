"""Entries of a Delta log as Arrow columns, in the form in which they are sorted and encoded.

Each batch has one row per entry. The partition values of a row are a number in `PartitionCodes`,
so they are sorted and encoded once per partition. A row also has the hash of its key, by which
files that occur twice are found without holding all keys.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.field import VECTOR
from headrace.errors import InvalidArgumentError
from headrace.protocol import light
from headrace.protocol.action import logged_vector_id
from headrace.protocol.key import canonical_path

PARTITION, KEY_HASH = "partition", "keyHash"
"""The columns that entries do not have: the number of the partition, and the hash of the key."""

ENTRY_COLUMNS = pa.schema(
    [
        pa.field("path", pa.large_string(), nullable=False),
        pa.field(PARTITION, pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("stats", pa.large_string()),
        pa.field("addedAtVersion", pa.int64(), nullable=False),
        pa.field("addedAtTimestamp", pa.int64(), nullable=False),
        pa.field("deletionVector", VECTOR),
        pa.field("tags", pa.map_(pa.string(), pa.string())),
        pa.field("baseRowId", pa.int64()),
        pa.field("defaultRowCommitVersion", pa.int64()),
        pa.field("clusteringProvider", pa.string()),
        pa.field(KEY_HASH, pa.int64(), nullable=False),
    ]
)
"""The columns of a batch; strings that may be long have 64-bit offsets."""

Key: TypeAlias = tuple[str, str | None]


def key_hashes(paths: pa.Array, vectors: pa.Array) -> npt.NDArray[np.int64]:
    """Return the hash of the key of each file; it differs between processes."""
    if vectors.null_count < len(vectors):
        keys: Sequence[Any] = list(_keys(paths, vectors))
    elif pc.any(pc.match_substring_regex(paths, "[%:]")).as_py():
        keys = [(canonical_path(path), None) for path in paths.to_pylist()]
    else:
        keys = [(path, None) for path in paths.to_pylist()]
    return np.fromiter(map(hash, keys), np.int64, len(keys))


def _keys(paths: pa.Array, vectors: pa.Array) -> Iterator[Key]:
    for path, vector in zip(paths.to_pylist(), vectors.to_pylist(), strict=True):
        yield canonical_path(path), logged_vector_id(vector)


class DuplicateCheck:
    """Finds files that are given twice, exactly, from the hashes of all keys.

    The hashes are complete before the first batch is checked, so only the keys of rows whose hash
    occurs more than once are compared.
    """

    def __init__(self) -> None:
        self._hashes: list[npt.NDArray[np.int64]] = []
        self._repeated: npt.NDArray[np.int64] | None = None
        self._keys: set[Key] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the hashes of a batch."""
        self._hashes.append(light.to_numpy(batch.column(KEY_HASH)).copy())

    def checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch unchanged, after checking it; all must have been added before.

        Raises:
            InvalidArgumentError: a file occurs a second time.
        """
        if self._repeated is None:
            hashes = np.sort(np.concatenate([*self._hashes, np.zeros(0, np.int64)]))
            self._repeated, self._hashes = hashes[1:][hashes[1:] == hashes[:-1]], []
        if not len(self._repeated):
            return batch
        is_suspect = np.isin(light.to_numpy(batch.column(KEY_HASH)), self._repeated)
        suspects = batch.filter(light.from_numpy(is_suspect))
        for key in _keys(suspects.column("path"), suspects.column("deletionVector")):
            if key in self._keys:
                raise InvalidArgumentError(argument="adds", reason=f"{key[0]} is given twice")
            self._keys.add(key)
        return batch
