"""Reads the runs of Parquet's RLE/bit-packed hybrid, the encoding of codes and levels.

Encoded bytes enter; runs leave: a number that repeats, or packed numbers of `width` bits. This
module knows the format of a run. `decode_runs` unpacks the numbers in plain Python, for reads that
are over before NumPy would be imported; `engines.arrow.checkpoint.rle` unpacks them with NumPy.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headrace.engines.arrow.parquet.varint import read_varint

_MAX_HEAD = 2**32 - 1


class EncodedRun(NamedTuple):
    """A run as it is stored, without its header."""

    is_packed: bool
    length: int
    """How many numbers it holds. A packed run holds a multiple of eight, perhaps with padding."""
    content: bytes
    """The packed numbers, or the one that repeats."""
    stop: int
    """The offset of the next run."""


def read_run(data: bytes, at: int, width: int) -> EncodedRun:
    """Return the run at an offset.

    Raises:
        ValueError: the run is empty, too long, or truncated.
        IndexError: the data ends within its header.
    """
    head, start = read_varint(data, at)
    is_packed = bool(head & 1)
    size = (head >> 1) * width if is_packed else (width + 7) // 8
    content = data[start : start + size]
    if len(content) < size or not 1 < head <= _MAX_HEAD:
        raise ValueError("the numbers end too early, or a run is damaged")
    return EncodedRun(is_packed, (head >> 1) * (8 if is_packed else 1), content, start + size)


def repeated_number(run: EncodedRun, width: int) -> int:
    """Return the number that a run repeats.

    Raises:
        ValueError: it has more than `width` bits.
    """
    number = int.from_bytes(run.content, "little")
    if number >> width:
        raise ValueError(f"a number has more than {width} bits")
    return number


def decode_runs(data: bytes, width: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the first `count` numbers, each with how often it repeats.

    Raises:
        ValueError, IndexError: a run is damaged, or the data ends too early.
    """
    at = 0
    mask = (1 << width) - 1
    while count > 0:
        run = read_run(data, at, width)
        if run.is_packed:
            packed = int.from_bytes(run.content, "little")
            for index in range(min(run.length, count)):
                yield (packed >> (index * width)) & mask, 1
        else:
            yield repeated_number(run, width), min(run.length, count)
        count -= run.length
        at = run.stop


def decode_levels(data: bytes, width: int, count: int) -> list[tuple[int, int]]:
    """Return `count` levels, each with how often it repeats.

    Raises:
        ValueError, IndexError: a run is damaged, or the levels do not take exactly all of `data`.
    """
    at = levels = 0
    while levels < count:
        run = read_run(data, at, width)
        at, levels = run.stop, levels + run.length
    if at != len(data):
        raise ValueError("the levels of a page have another size than stated")
    return list(decode_runs(data, width, count))
