"""Scans in asyncio: a thread waits for each item, so the event loop is never blocked.

Iterators that can be stopped enter; asynchronous iterators leave.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, closing
from itertools import islice
from typing import Protocol, TypeVar

from headrace.engines.producer import Producer
from headrace.engines.production import Backpressure
from headrace.plan.cancellation import Cancellation

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_AT_ONCE = 1024


class Stoppable(Iterator[R_co], Protocol[R_co]):
    """An iterator that another thread may close, or ask to end without waiting."""

    def stop(self) -> None:
        """Ask it to end soon."""

    def close(self) -> None:
        """End it, and release all resources."""


async def one_by_one(source: Stoppable[R]) -> AsyncGenerator[R, None]:
    """Yield the items of an iterator, and close it however the loop over them ends."""
    try:
        while items := await asyncio.to_thread(list, islice(source, 1)):
            yield items[0]
    finally:
        source.stop()  # at once, since all threads of the loop may be waiting for items
        await asyncio.to_thread(source.close)


async def in_bulk(
    source: Generator[R, None, None], cancellation: Cancellation
) -> AsyncGenerator[R, None]:
    """Do the same for many small items, which are produced on demand, up to 1,024 at a time."""
    chunks = Producer(
        lambda _: _chunks(source, cancellation),
        backpressure=Backpressure(ahead=0),
        cancellation=cancellation,
        name="headrace-files",
    )
    async with aclosing(one_by_one(chunks)) as lists:
        async for items in lists:
            for item in items:
                yield item


def _chunks(
    source: Generator[R, None, None], cancellation: Cancellation
) -> Generator[list[R], None, None]:
    """Yield lists of items, the first with one item to return it early; then raise any error."""
    size = 1
    with closing(source):
        while True:
            items, error = _take(source, size, cancellation)
            if items:
                yield items
            if error is not None:
                raise error
            if len(items) < size:
                return
            size = _AT_ONCE


def _take(
    items: Iterator[R], most: int, cancellation: Cancellation
) -> tuple[list[R], Exception | None]:
    """Return at most `most` items, and the error that follows them."""
    taken: list[R] = []
    try:
        for item in islice(items, most):
            taken.append(item)
            cancellation.check()
    except Exception as error:  # noqa: BLE001  (whatever it is, the items before it come first)
        return taken, error
    return taken, None
