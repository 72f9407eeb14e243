"""Probe a frozen seen set with whole columns of paths.

Creating a Python string for every path would cost more than reading it. So each row is first
looked up in a bitmap of bounded size by eight bytes near the end of its path, where file names
differ; only the few candidates are compared exactly. The bitmap never decides by itself.
"""

from itertools import islice
from threading import Lock
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.paths import paths_in_doubt
from headrace.plan.seen import FrozenSeen
from headrace.protocol import light
from headrace.protocol.action import logged_vector_id
from headrace.protocol.key import FileKey, canonical_path
from headrace.replay.path_column import TAIL_BYTES, WINDOW_START, PathColumn

BITMAP_LIMIT_BYTES = 16 << 20
_BITS_PER_KEY = 128
_MIN_BITS = 1 << 16
_KEYS_AT_ONCE = 1 << 16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_SURE_BYTES = TAIL_BYTES + 3 * len("file:")
"""A path of at least this length has its window in its key, unless the path is little more than a
scheme (possibly escaped) and slashes that reach into the window."""
_FIRST_BYTE, _SLASH = np.uint64(0xFF), np.uint64(ord("/"))

Rows: TypeAlias = npt.NDArray[np.intp]
"""Row indices of a batch."""
_Spots: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]
"""For each hash, the index of its byte in the bitmap, and the bit in that byte."""


def all_but(rows: Rows, size: int) -> pa.BooleanArray:
    """Return a mask of `size` rows that is false for `rows`."""
    mask = np.ones(size, dtype=np.bool_)
    mask[rows] = False
    return light.from_numpy(mask)


class SeenMatcher:
    """Finds the rows of a batch whose key is in the set.

    The bitmap takes about sixteen bytes per key, up to a limit: beyond it more rows are compared
    exactly, with the same answer. It is built only after enough rows have been compared for it to
    pay off, so a scan of few rows never waits for it.
    """

    def __init__(self, seen: FrozenSeen, *, bitmap_limit_bytes: int = BITMAP_LIMIT_BYTES) -> None:
        self._seen = seen
        self._limit_bits = bitmap_limit_bytes * 8
        # Comparing a row costs about as much as adding a key to the bitmap.
        self._without_bitmap = len(seen)
        self._lock = Lock()
        self._bitmap: Bitmap | None = None

    def seen_rows(self, paths: pa.StringArray, vectors: pa.StructArray | None) -> Rows:
        """Return the indices of the rows whose key is in the set, in order."""
        if not len(paths):
            return np.empty(0, dtype=np.intp)
        candidates = self._rows_to_compare(paths)
        if not len(candidates):
            return candidates
        rows = light.from_numpy(candidates)
        texts = [canonical_path(path) for path in paths.take(rows).to_pylist()]
        ids = [None] * len(texts) if vectors is None else _ids(vectors.take(rows))
        keys = [FileKey(path, dv_id) for path, dv_id in zip(texts, ids, strict=True)]
        return candidates[np.array(self._seen.contains_many(keys), dtype=np.bool_)]

    def _rows_to_compare(self, paths: pa.StringArray) -> Rows:
        with self._lock:
            if self._bitmap is None:
                self._without_bitmap -= len(paths)
                if self._without_bitmap >= 0:
                    return np.arange(len(paths))
                self._bitmap = self._new_bitmap()
        bitmap = self._bitmap
        rows = paths_in_doubt(paths, bitmap.bytes, bitmap.shift)
        return _rows_in_doubt(paths, bitmap) if rows is None else rows

    def _new_bitmap(self) -> "Bitmap":
        bitmap = Bitmap(min(max(len(self._seen) * _BITS_PER_KEY, _MIN_BITS), self._limit_bits))
        paths = self._seen.paths()
        while some := list(islice(paths, _KEYS_AT_ONCE)):
            column = PathColumn(light.array(some, pa.binary()))
            bitmap.add(column.windows(np.flatnonzero(column.lengths >= WINDOW_START)))
        return bitmap


class Bitmap:
    """A bitmap of constant size with two bits set for each added number."""

    def __init__(self, most_bits: int) -> None:
        exponent = max(most_bits, 8).bit_length() - 1
        self.bytes = np.zeros(1 << (exponent - 3), dtype=np.uint8)
        self.shift = 64 - exponent

    def add(self, numbers: npt.NDArray[np.uint64]) -> None:
        """Add numbers."""
        hashes = numbers * _MULTIPLIER
        for mixed in (hashes, _second_hashes(hashes)):
            np.bitwise_or.at(self.bytes, *self._spots(mixed))

    def may_hold(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return whether each number may have been added; a few results are false positives."""
        hashes = numbers * _MULTIPLIER
        may_hold = self._holds(hashes)
        passed = np.flatnonzero(may_hold)  # few, so testing their second bit costs little
        may_hold[passed] = self._holds(_second_hashes(hashes[passed]))
        return may_hold

    def _holds(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        places, bits = self._spots(hashes)
        is_set: npt.NDArray[np.bool_] = (self.bytes[places] & bits) != 0
        return is_set

    def _spots(self, hashes: npt.NDArray[np.uint64]) -> _Spots:
        number = (hashes >> np.uint64(self.shift)).view(np.int64)
        return number >> 3, np.left_shift(np.uint8(1), (number & 7).astype(np.uint8))


def _rows_in_doubt(paths: pa.StringArray, bitmap: Bitmap) -> Rows:
    """Return the rows whose key may be in the set.

    The key of a path is the path itself, except for escapes and a local scheme. A tail without
    escapes is also the tail of the key, unless the key is shorter than the tail: then the path is
    short, or consists of little more than a scheme and slashes that reach into the window.
    """
    column = PathColumn(paths)
    in_doubt: npt.NDArray[np.bool_] = column.lengths < TAIL_BYTES
    long_enough = np.flatnonzero(~in_doubt)
    windows = column.windows(long_enough)
    in_doubt[long_enough] = bitmap.may_hold(windows) | column.tails_escaped(long_enough)
    may_shrink = long_enough[
        (column.lengths[long_enough] < _SURE_BYTES) | _begin_with_slash(windows)
    ]
    if len(may_shrink):
        in_doubt[may_shrink] |= _differ_from_key(paths.take(light.from_numpy(may_shrink)))
    return np.flatnonzero(in_doubt)


def _begin_with_slash(windows: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    is_slash: npt.NDArray[np.bool_] = (windows & _FIRST_BYTE) == _SLASH
    return is_slash


def _differ_from_key(paths: pa.StringArray) -> npt.NDArray[np.bool_]:
    """Return whether each path may differ from its key."""
    may_differ = pc.or_(pc.starts_with(paths, "file:"), pc.match_substring(paths, "%"))
    return light.to_numpy(may_differ)


def _second_hashes(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Derive a second hash, for the second bit."""
    mixed = hashes ^ (hashes >> np.uint64(32))
    mixed *= _SECOND_MULTIPLIER
    return mixed


def _ids(vectors: pa.StructArray) -> list[str | None]:
    """Return the ids of a few deletion vectors."""
    return [logged_vector_id(vector) for vector in vectors.to_pylist()]
