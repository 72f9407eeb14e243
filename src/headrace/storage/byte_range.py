"""Coalesce byte ranges of one object into few requests.

Ranges enter; the requests that a store should send leave. `split` then cuts the fetched bytes back
into the original ranges. Nothing here does I/O, so readers can count requests before sending any.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
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

    def parts(self, largest_bytes: int) -> list["ByteRange"]:
        """Cut the range into as few parts as possible, all of about the same size."""
        if not self.length:
            return []
        count = -(-self.length // largest_bytes)
        bounds = [self.start + self.length * index // count for index in range(count + 1)]
        return [ByteRange(start, stop - start) for start, stop in pairwise(bounds)]


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
    for span in sorted(span for span in ranges if span.length):
        is_near = stop and span.start - stop <= rule.gap_bytes
        if is_near and max(stop, span.stop) - start <= rule.largest_bytes:
            stop = max(stop, span.stop)
            continue
        requests += ByteRange(start, stop - start).parts(rule.largest_bytes)
        # Where a range overlaps the previous request, fetch only the part after it.
        start, stop = max(span.start, stop), max(span.stop, stop)
    requests += ByteRange(start, stop - start).parts(rule.largest_bytes)
    return requests


def split(
    ranges: Sequence[ByteRange], requests: Sequence[ByteRange], contents: Sequence[Bytes]
) -> Contents:
    """Cut the contents of the requests from `coalesce` into `ranges`, mostly without a copy."""
    starts = [request.start for request in requests]
    return [_cut(span, starts, contents) for span in ranges]


def _cut(span: ByteRange, starts: Sequence[int], contents: Sequence[Bytes]) -> memoryview:
    if not span.length:
        return memoryview(b"")
    index = bisect_right(starts, span.start) - 1
    offset = span.start - starts[index]
    first = memoryview(contents[index])[offset : offset + span.length]
    if len(first) == span.length:
        return first
    whole = bytearray(first)
    while len(whole) < span.length:
        index += 1
        whole += memoryview(contents[index])[: span.length - len(whole)]
    return memoryview(whole)
