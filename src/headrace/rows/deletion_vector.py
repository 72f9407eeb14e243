"""Reading deletion vectors, and applying them to a file's rows."""

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
"""How many bytes of 64-bit indexes come before the first bitmap: its number and its upper half."""


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
        """The greatest index; None: no row is deleted."""
        return self._bitmap.max() if self._bitmap else None

    def indexes(self) -> npt.NDArray[np.uint64]:
        """All indexes in ascending order."""
        return np.frombuffer(self._bitmap.to_array(), np.uint64)

    def portable(self) -> bytes:
        """The indexes as one bitmap in the portable format of roaring, which knows 32 bits.

        Raises:
            OverflowError: an index has more.
        """
        if not self._bitmap:
            return BitMap().serialize()
        if self._bitmap.max() >> 32:
            raise OverflowError(f"{self._bitmap.max()} does not fit into 32 bits")
        # Of 64 bits, the format has one such bitmap for each upper half, of which there is one.
        return self._bitmap.serialize()[_ONE_BITMAP_FOLLOWS:]

    def count(self, start: int, length: int) -> int:
        """How many of `length` rows from `start` on are deleted."""
        return int(self._bitmap.range_cardinality(start, start + length))

    def kept(self, start: int, length: int) -> pa.BooleanArray | None:
        """Which of `length` rows from `start` on are not deleted; None: all of them are kept.

        Only these rows are looked at: however many are deleted, little memory is taken.
        """
        if not self.count(start, length):
            return None
        deleted = self._bitmap & BitMap64(range(start, start + length))
        mask = np.ones(length, np.bool_)
        mask[np.frombuffer(deleted.to_array(), np.uint64) - np.uint64(start)] = False
        return pa.array(mask)

    def named(self, start: int, length: int) -> pa.BooleanArray:
        """Which of `length` rows from `start` on are deleted."""
        kept = self.kept(start, length)
        return pa.repeat(False, length) if kept is None else pc.invert(kept)


def read_deletion_vector(store: Store, vector: DeletionVector) -> DeletedRows:
    """The rows that a file's deletion vector names.

    Args:
        store: The store of the table; it must open absolute addresses too, as
            `headrace.wiring.open_files` does, where a vector may have one.
        vector: What the log says about the vector.

    Raises:
        CorruptDeletionVectorError: it cannot be told which rows are deleted.
        DataFileNotFoundError: the vector's file is not there.
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
        raise UnsafePathError(path=path, reason="it climbs out of the table")
    return path
