"""Scans in asyncio: each step runs in a thread, so that the loop is never blocked."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Protocol, TypeVar

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_AT_ONCE = 1024


class Closable(Iterator[R_co], Protocol[R_co]):
    """An iterator that can be told to stop."""

    def close(self) -> None:
        """Let go of everything."""


async def one_by_one(source: Closable[R]) -> AsyncIterator[R]:
    """The items of an iterator; it is closed when the loop over them ends, however it does."""
    try:
        while items := await asyncio.to_thread(_some, source, 1):
            yield items[0]
    finally:
        await asyncio.to_thread(source.close)


async def in_bulk(source: Closable[R]) -> AsyncIterator[R]:
    """The same for many small items: a thread is asked once for a thousand of them.

    The first comes alone, since somebody may be waiting for it.
    """
    size = 1
    try:
        while items := await asyncio.to_thread(_some, source, size):
            for item in items:
                yield item
            size = _AT_ONCE
    finally:
        await asyncio.to_thread(source.close)


def _some(source: Closable[R], size: int) -> list[R]:
    return list(islice(source, size))
