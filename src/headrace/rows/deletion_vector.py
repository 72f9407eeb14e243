"""Reads deletion vectors, and applies them to a file's rows.

The vector of an add and a store enter; a `DeletedRows` leaves.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap, BitMap64

from headrace.errors import (
    CorruptDeletionVectorError,
    DataFileNotFoundError,
    ObjectNotFoundError,
    ObjectTooShortError,
    UnsafePathError,
)
from headrace.protocol import light
from headrace.protocol.action import DeletionVector
from headrace.protocol.deletion_vector import (
    FILE_VERSION,
    FIRST_OFFSET,
    FRAME_BYTES,
    decode_inline,
    decode_stored,
    is_inline,
    relative_path,
)
from headrace.storage.byte_range import ByteRange
from headrace.storage.location import resolve
from headrace.storage.store import Store

_ONE_BITMAP_FOLLOWS = 12
"""The bytes before the first bitmap of a 64-bit vector: the number of bitmaps, and a key."""


class DeletedRows:
    """The indexes of a file's deleted rows, counted from 0 over the whole file."""

    def __init__(self, bitmap: BitMap64) -> None:
        self._bitmap = bitmap

    def __len__(self) -> int:
        return len(self._bitmap)

    def __contains__(self, row: int) -> bool:
        return row in self._bitmap

    @property
    def last(self) -> int | None:
        """The greatest index; None if no row is deleted."""
        return self._bitmap.max() if self._bitmap else None

    def indexes(self) -> npt.NDArray[np.uint64]:
        """All indexes in ascending order."""
        return np.frombuffer(self._bitmap.to_array(), np.uint64)

    def portable(self) -> bytes:
        """Return the indexes as one 32-bit bitmap in roaring's portable format.

        Raises:
            OverflowError: an index needs more than 32 bits.
        """
        if not self._bitmap:
            return BitMap().serialize()
        if self._bitmap.max() >> 32:
            raise OverflowError(f"{self._bitmap.max()} does not fit into 32 bits")
        # The 64-bit format has one such bitmap per upper half; here there is one.
        return self._bitmap.serialize()[_ONE_BITMAP_FOLLOWS:]

    def count(self, start: int, length: int) -> int:
        """Return how many of the `length` rows starting at `start` are deleted."""
        return int(self._bitmap.range_cardinality(start, start + length))

    def live_mask(self, start: int, length: int) -> pa.BooleanArray | None:
        """Return which of the `length` rows starting at `start` are not deleted; None if all.

        Only these rows are examined, so memory does not depend on the number of deleted rows.
        """
        if not self.count(start, length):
            return None
        deleted = self._bitmap & BitMap64(range(start, start + length))
        mask = np.ones(length, np.bool_)
        mask[np.frombuffer(deleted.to_array(), np.uint64) - np.uint64(start)] = False
        return light.from_numpy(mask)

    def deleted_mask(self, start: int, length: int) -> pa.BooleanArray:
        """Return which of the `length` rows starting at `start` are deleted."""
        mask = self.live_mask(start, length)
        return pa.repeat(light.FALSE, length) if mask is None else pc.invert(mask)


def read_deletion_vector(store: Store, vector: DeletionVector) -> DeletedRows:
    """Read the deleted rows of a file.

    Args:
        store: The store of the table. If vectors may have absolute addresses, it must open them,
            as `headrace.wiring.open_files` does.
        vector: The vector's descriptor in the log.

    Raises:
        CorruptDeletionVectorError: the vector cannot be decoded.
        DataFileNotFoundError: the vector's file does not exist.
    """
    if is_inline(vector):
        return DeletedRows(decode_inline(vector))
    return DeletedRows(decode_stored(_read_frame(store, vector), vector))


def _read_frame(store: Store, vector: DeletionVector) -> bytes:
    path = _path(store, vector)
    offset = FIRST_OFFSET if vector.offset is None else vector.offset
    try:
        if offset < FIRST_OFFSET or vector.size_in_bytes < 0:
            reason = f"it cannot have {vector.size_in_bytes} bytes at {offset}"
            raise CorruptDeletionVectorError(vector=vector.unique_id, reason=reason)
        frame = ByteRange(offset, vector.size_in_bytes + FRAME_BYTES)
        version, content = store.read_ranges(path, [ByteRange(0, 1), frame])
    except ObjectNotFoundError as error:
        raise DataFileNotFoundError(path=path) from error
    except ObjectTooShortError as error:
        reason = f"{path} ends before byte {offset + vector.size_in_bytes + FRAME_BYTES}"
        raise CorruptDeletionVectorError(vector=vector.unique_id, reason=reason) from error
    if version != bytes([FILE_VERSION]):
        reason = f"{path} has the format {version.hex()}, not {FILE_VERSION}"
        raise CorruptDeletionVectorError(vector=vector.unique_id, reason=reason)
    return bytes(content)


def _path(store: Store, vector: DeletionVector) -> str:
    path = relative_path(vector)
    if path is None:
        return resolve(store.root, vector.path_or_inline_dv)
    if ".." in path.split("/") or path.startswith("/"):
        raise UnsafePathError(path=path, reason="it leads out of the table")
    return path
