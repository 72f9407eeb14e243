"""Ranges of one object, and how few requests fetch them.

Ranges enter, the requests that a store should send leave; `split` cuts the fetched bytes into
what was asked for. Nothing here does I/O, so that readers can count requests before they send any.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

Bytes: TypeAlias = bytes | memoryview
"""What was read: it has a length and can be sliced, and Arrow takes it without a copy."""


Contents: TypeAlias = list[memoryview]
"""The bytes of several ranges, in the order in which these were asked for."""


class ByteRange(msgspec.Struct, frozen=True, order=True):
    """The bytes of an object from `start`, `length` of them."""

    start: int
    length: int

    @property
    def stop(self) -> int:
        """The position after the last byte."""
        return self.start + self.length


class Coalescing(msgspec.Struct, frozen=True, kw_only=True):
    """How ranges become requests."""

    gap_bytes: int
    """Two ranges with at most this many bytes between them are fetched together."""
    largest_bytes: int
    """No request asks for more: larger ranges are fetched in parts, side by side."""


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
        # Ranges that overlap what is being fetched begin after it.
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
    """Cut what the requests of `coalesce` fetched into the ranges, mostly without a copy."""
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
