"""Decodes Parquet's RLE/bit-packed hybrid encoding of codes and levels with NumPy.

Eight numbers of `width` bits take `width` bytes, so every eighth number starts at a byte. From
there they are read as 64-bit words, and the numbers of all words are spread in parallel.

`engines.arrow.parquet.run` knows the format of a run, and unpacks in plain Python for reads that
are over before NumPy would be imported (ADR 8). This module serves packages without the compiled
library and pages that the library declines: `compiled/runs.h` decodes within other loops, where a
separate array would cost a pass over memory (ADR 15).
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.engines.arrow.parquet.run import read_run, repeated_number

MAX_BITS = 16
_LONGEST_PACKED = 63
"""Groups of eight in a packed run: writers stop there, since the header then fits one byte."""
_LONGEST_HEAD = _LONGEST_PACKED << 1 | 1


def unpack(data: bytes, width: int, count: int) -> npt.NDArray[Any]:
    """Unpack `count` numbers of `width` bits.

    Raises:
        ValueError: they have too many bits, or the data ends too early.
        IndexError: the data ends too early.
    """
    kind = _kind(width)
    if not width:
        return np.zeros(count, dtype=kind)
    parts = [np.zeros(0, dtype=kind)]
    for is_packed, runs in groupby(_runs(data, width, count), lambda run: isinstance(run, bytes)):
        if is_packed:
            parts.append(_unpacked(b"".join(runs), width, kind))  # type: ignore[arg-type]
        else:
            parts += (np.full(times, value, dtype=kind) for value, times in runs)
    return np.concatenate(parts)[:count]


def _kind(width: int) -> np.dtype[Any]:
    """Return the smallest NumPy type for numbers of `width` bits."""
    if width > MAX_BITS:
        raise ValueError(f"numbers of {width} bits are not supported")
    return np.dtype(np.uint8 if width <= 8 else np.uint16)  # noqa: PLR2004  (a byte has eight)


def _runs(data: bytes, width: int, count: int) -> Iterator[bytes | tuple[int, int]]:
    """Yield packed runs without their headers, and repeated numbers with their counts."""
    at = done = 0
    while done < count:
        alike = _longest_runs(data, at, width, count - done)
        if alike is not None:
            yield alike[:, 1:].tobytes()
            at += alike.size
            done += len(alike) * _LONGEST_PACKED * 8
            continue
        run = read_run(data, at, width)
        if run.is_packed:
            yield run.content
        else:
            yield repeated_number(run, width), min(run.length, count - done)
        at = run.stop
        done += run.length


def is_repeated(data: bytes, width: int, value: int, count: int) -> bool:
    """Return whether all `count` numbers equal `value`."""
    if not count:
        return True
    first = read_run(data, 0, width)
    if not first.is_packed and first.length >= count:  # the usual case: nothing to unpack
        return int.from_bytes(first.content, "little") == value
    return bool((unpack(data, width, count) == value).all())


def _longest_runs(data: bytes, at: int, width: int, count: int) -> npt.NDArray[np.uint8] | None:
    """Return the consecutive packed runs of maximum length, one per row with its header."""
    size = 1 + _LONGEST_PACKED * width
    most = min(count // (_LONGEST_PACKED * 8), (len(data) - at) // size)
    if most < 1 or data[at] != _LONGEST_HEAD:
        return None
    rows: npt.NDArray[np.uint8] = np.ndarray((most, size), dtype=np.uint8, buffer=data, offset=at)
    shorter = np.flatnonzero(rows[:, 0] != _LONGEST_HEAD)
    return rows[: shorter[0]] if len(shorter) else rows


def _unpacked(packed: bytes, width: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    if width == 8 * kind.itemsize:
        return np.frombuffer(packed, dtype=kind.newbyteorder("<"))
    lanes = 8 // kind.itemsize
    groups = len(packed) // width
    padded = packed + bytes(8)  # the word of the last numbers reaches beyond the data
    words = np.empty((groups, 8 // lanes), dtype="<u8")
    for part in range(8 // lanes):
        start, shift = divmod(part * lanes * width, 8)
        unaligned: npt.NDArray[np.uint64] = np.ndarray(
            (groups,), dtype="<u8", buffer=padded, offset=start, strides=(width,)
        )
        words[:, part] = unaligned >> np.uint64(shift)
    return _spread(words.ravel(), width, lanes).view(kind)


def _spread(words: npt.NDArray[np.uint64], width: int, lanes: int) -> npt.NDArray[np.uint64]:
    """Spread the packed numbers of each word until each has its own lane.

    The upper half of the numbers moves up into place; then the upper half of each half does, until
    every half is one number.
    """
    lane = 64 // lanes
    half = lanes // 2
    while half:
        lower = sum(((1 << half * width) - 1) << at for at in range(0, 64, 2 * half * lane))
        moved = words << np.uint64(half * (lane - width))
        moved &= np.uint64(lower << half * lane)
        words &= np.uint64(lower)
        words |= moved
        half //= 2
    return words
