"""Probing a frozen seen set with whole columns.

Making a Python text of every path would cost more than reading it. So a row is first looked
up by eight bytes near the end of its path, where file names differ, in a bitmap of bounded size,
and only the few candidates are compared exactly. The bitmap never decides by itself.
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
from headrace.protocol.key import FileKey, canonical_path
from headrace.replay.path_column import TAIL_BYTES, WINDOW_START, PathColumn

BITMAP_LIMIT_BYTES = 16 << 20
_BITS_PER_KEY = 128
_FEWEST_BITS = 1 << 16
_KEYS_AT_ONCE = 1 << 16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_SURE_BYTES = TAIL_BYTES + 3 * len("file:")
"""A path as long as this has its window in its key, unless it is a scheme, be it escaped, and a
run of slashes that reaches into the window."""
_FIRST_BYTE, _SLASH = np.uint64(0xFF), np.uint64(ord("/"))

Rows: TypeAlias = npt.NDArray[np.intp]
"""The places of some rows of a batch."""
_Spots: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]
"""A byte of the bitmap for each hash, and the bit in it."""


def all_but(rows: Rows, size: int) -> pa.BooleanArray:
    """A mask of so many rows that leaves out some."""
    mask = np.ones(size, dtype=np.bool_)
    mask[rows] = False
    return pa.array(mask)


class SeenMatcher:
    """Finds the rows of a batch whose key is in the set.

    The bitmap takes about sixteen bytes a key, and never more than its limit: a set that outgrows
    it has more of its rows compared exactly, and no other answer. It is made when so many rows
    have been compared that it would have paid; who asks for few rows never waits for it.
    """

    def __init__(self, seen: FrozenSeen, *, bitmap_limit_bytes: int = BITMAP_LIMIT_BYTES) -> None:
        self._seen = seen
        self._limit_bits = bitmap_limit_bytes * 8
        self._without_bitmap = len(seen)  # to compare a row takes as long as to add a key
        self._lock = Lock()
        self._bitmap: Bitmap | None = None

    def seen_rows(self, paths: pa.StringArray, vectors: pa.StructArray | None) -> Rows:
        """The rows whose key is in the set, in order."""
        if not len(paths):
            return np.empty(0, dtype=np.intp)
        candidates = self._rows_to_compare(paths)
        if not len(candidates):
            return candidates
        rows = pa.array(candidates)
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
        bitmap = Bitmap(min(max(len(self._seen) * _BITS_PER_KEY, _FEWEST_BITS), self._limit_bits))
        paths = self._seen.paths()
        while some := list(islice(paths, _KEYS_AT_ONCE)):
            column = PathColumn(pa.array(some, pa.binary()))
            bitmap.add(column.windows(np.flatnonzero(column.lengths >= WINDOW_START)))
        return bitmap


class Bitmap:
    """Two bits for each number that was added; it takes as much memory at the end as at first."""

    def __init__(self, most_bits: int) -> None:
        exponent = max(most_bits, 8).bit_length() - 1
        self.bytes = np.zeros(1 << (exponent - 3), dtype=np.uint8)
        self.shift = 64 - exponent

    def add(self, numbers: npt.NDArray[np.uint64]) -> None:
        """Let these numbers through from now on."""
        hashes = numbers * _MULTIPLIER
        for mixed in (hashes, _mixed_again(hashes)):
            np.bitwise_or.at(self.bytes, *self._spots(mixed))

    def may_hold(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Whether each number may have been added: true for all that were, and for a few more."""
        hashes = numbers * _MULTIPLIER
        found = self._holds(hashes)
        passed = np.flatnonzero(found)  # few, so that their second bit costs next to nothing
        found[passed] = self._holds(_mixed_again(hashes[passed]))
        return found

    def _holds(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        places, bits = self._spots(hashes)
        found: npt.NDArray[np.bool_] = (self.bytes[places] & bits) != 0
        return found

    def _spots(self, hashes: npt.NDArray[np.uint64]) -> _Spots:
        number = (hashes >> np.uint64(self.shift)).view(np.int64)
        return number >> 3, np.left_shift(np.uint8(1), (number & 7).astype(np.uint8))


def _rows_in_doubt(paths: pa.StringArray, bitmap: Bitmap) -> Rows:
    """The rows whose key may be in the set.

    The key of a path is the path itself, but for escapes and for a local scheme. Where the tail
    has no escape, it is the tail of the key too, unless the key is shorter than that: then the
    path is short or all but a scheme and slashes, which reach into the window.
    """
    column = PathColumn(paths)
    in_doubt: npt.NDArray[np.bool_] = column.lengths < TAIL_BYTES
    rest = np.flatnonzero(~in_doubt)
    windows = column.windows(rest)
    in_doubt[rest] = bitmap.may_hold(windows) | column.tails_escaped(rest)
    may_shrink = rest[(column.lengths[rest] < _SURE_BYTES) | _begin_with_slash(windows)]
    if len(may_shrink):
        in_doubt[may_shrink] |= _differ_from_key(paths.take(pa.array(may_shrink)))
    return np.flatnonzero(in_doubt)


def _begin_with_slash(windows: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (windows & _FIRST_BYTE) == _SLASH
    return found


def _differ_from_key(paths: pa.StringArray) -> npt.NDArray[np.bool_]:
    """Whether each path may not be its own key."""
    found = pc.or_(pc.starts_with(paths, "file:"), pc.match_substring(paths, "%"))
    return np.asarray(found.to_numpy(zero_copy_only=False))


def _mixed_again(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Another hash, for the second bit."""
    mixed = hashes ^ (hashes >> np.uint64(32))
    mixed *= _SECOND_MULTIPLIER
    return mixed


def _ids(vectors: pa.StructArray) -> list[str | None]:
    """The ids of a few deletion vectors."""
    found: list[str | None] = []
    for vector in vectors.to_pylist():
        if vector is None or vector["storageType"] is None:
            found.append(None)
            continue
        offset = vector.get("offset")
        base = vector["storageType"] + vector["pathOrInlineDv"]
        found.append(base if offset is None else f"{base}@{offset}")
    return found
