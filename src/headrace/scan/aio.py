"""Scans in asyncio: each step runs in a thread, so that the loop is never blocked."""

import asyncio
from collections.abc import AsyncIterator, Generator
from itertools import islice
from typing import TypeVar

R = TypeVar("R")

_AT_ONCE = 1024


async def one_by_one(source: Generator[R, None, None]) -> AsyncIterator[R]:
    """The items of a generator; it is closed when the loop over them ends, however it does."""
    try:
        while items := await asyncio.to_thread(_some, source, 1):
            yield items[0]
    finally:
        await asyncio.to_thread(source.close)


async def in_bulk(source: Generator[R, None, None]) -> AsyncIterator[R]:
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


def _some(source: Generator[R, None, None], size: int) -> list[R]:
    return list(islice(source, size))
