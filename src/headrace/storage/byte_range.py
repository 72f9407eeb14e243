"""Coalesce byte ranges of one object into few requests.

Ranges enter; the requests that a store should send leave. `split` then cuts the fetched bytes back
into the original ranges. Nothing here does I/O, so readers can count requests before sending any.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

Bytes: TypeAlias = bytes | memoryview
"""Bytes that were read; Arrow takes them without a copy."""


Contents: TypeAlias = list[memoryview]
"""The bytes of several ranges, in the order in which the ranges were requested."""


class ByteRange(msgspec.Struct, frozen=True, order=True):
    """A range of `length` bytes of an object, beginning at `start`."""

    start: int
    length: int

    @property
    def stop(self) -> int:
        """The position after the last byte."""
        return self.start + self.length


class Coalescing(msgspec.Struct, frozen=True, kw_only=True):
    """The rule for merging ranges into requests."""

    gap_bytes: int
    """Two ranges with at most this many bytes between them are fetched together."""
    largest_bytes: int
    """The maximum size of a request; larger ranges are fetched as several requests."""


def coalesce(ranges: Iterable[ByteRange], rule: Coalescing) -> list[ByteRange]:
    """Return the requests that cover all ranges, ordered and without overlap.

    Empty ranges need no request.
    """
    requests: list[ByteRange] = []
    start = stop = 0
    for wanted in sorted(wanted for wanted in ranges if wanted.length):
        is_near = stop and wanted.start - stop <= rule.gap_bytes
        if is_near and max(stop, wanted.stop) - start <= rule.largest_bytes:
            stop = max(stop, wanted.stop)
            continue
        requests += _parts(start, stop, rule.largest_bytes)
        # Where a range overlaps the previous request, fetch only the part after it.
        start, stop = max(wanted.start, stop), max(wanted.stop, stop)
    requests += _parts(start, stop, rule.largest_bytes)
    return requests


def _parts(start: int, stop: int, largest_bytes: int) -> list[ByteRange]:
    return [
        ByteRange(position, min(largest_bytes, stop - position))
        for position in range(start, stop, largest_bytes)
    ]


def split(
    ranges: Sequence[ByteRange], requests: Sequence[ByteRange], contents: Sequence[Bytes]
) -> Contents:
    """Cut the contents of the requests from `coalesce` into `ranges`, mostly without a copy."""
    starts = [request.start for request in requests]
    return [_cut(wanted, starts, contents) for wanted in ranges]


def _cut(wanted: ByteRange, starts: Sequence[int], contents: Sequence[Bytes]) -> memoryview:
    if not wanted.length:
        return memoryview(b"")
    index = bisect_right(starts, wanted.start) - 1
    offset = wanted.start - starts[index]
    first = memoryview(contents[index])[offset : offset + wanted.length]
    if len(first) == wanted.length:
        return first
    whole = bytearray(first)
    while len(whole) < wanted.length:
        index += 1
        whole += memoryview(contents[index])[: wanted.length - len(whole)]
    return memoryview(whole)
