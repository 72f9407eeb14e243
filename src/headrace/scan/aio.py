"""Scans in asyncio: each step runs in a thread, so that the loop is never blocked."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
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
    """The items of an iterator; it is closed when the loop over them ends, however it does.

    It may be closed while another thread waits for an item.
    """
    try:
        while items := await asyncio.to_thread(list, islice(source, 1)):
            yield items[0]
    finally:
        await asyncio.to_thread(source.close)


async def in_bulk(source: Closable[R]) -> AsyncIterator[R]:
    """The same for many small items: a thread is asked once for a thousand of them.

    The first comes alone, since somebody may be waiting for it. The source is a generator, which
    cannot be closed while it runs: where its step is no longer wanted, its next item is waited for.
    """
    size, step, stopping = 1, None, threading.Event()
    try:
        while True:
            some = islice(source, size)
            step = asyncio.ensure_future(asyncio.to_thread(_until, stopping, some))
            items = await asyncio.shield(step)
            if not items:
                return
            for item in items:
                yield item
            size = _AT_ONCE
    finally:
        stopping.set()
        if step is not None:
            with suppress(Exception):  # it has been raised already, or nobody wants to hear it
                await step
        await asyncio.to_thread(source.close)


def _until(stopping: threading.Event, items: Iterator[R]) -> list[R]:
    taken: list[R] = []
    for item in items:
        taken.append(item)
        if stopping.is_set():
            break
    return taken
