"""Scans in asyncio: each step runs in a thread, and the loop does not wait for it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from itertools import islice
from typing import Protocol, TypeVar

from headrace.plan.cancellation import Cancellation, Cancelled

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_AT_ONCE = 1024


class Closable(Iterator[R_co], Protocol[R_co]):
    """An iterator that can be told to stop."""

    def close(self) -> None:
        """Let go of everything."""


class Stoppable(Closable[R_co], Protocol[R_co]):
    """One that another thread may close, and that can be told so without waiting."""

    def stop(self) -> None:
        """Let it end soon."""


async def one_by_one(source: Stoppable[R]) -> AsyncIterator[R]:
    """The items of an iterator; it is closed when the loop over them ends, however it does."""
    try:
        while items := await asyncio.to_thread(list, islice(source, 1)):
            yield items[0]
    finally:
        source.stop()  # at once: all threads of the loop may be waiting for items
        await asyncio.to_thread(source.close)


async def in_bulk(source: Closable[R], cancellation: Cancellation) -> AsyncGenerator[R, None]:
    """The same for many small items: a thread is asked once for a thousand of them.

    The first comes alone, since somebody may be waiting for it. The source is a generator, which
    cannot be closed while it runs: where its step is no longer wanted, it is called off.
    """
    size, step = 1, None
    try:
        while True:
            some = islice(source, size)
            step = asyncio.ensure_future(asyncio.to_thread(_until, cancellation, some))
            items, error = await asyncio.shield(step)
            for item in items:
                yield item
            if error is not None:
                raise error
            if not items:
                return
            size = _AT_ONCE
    finally:
        cancellation.request()
        if step is not None:
            with suppress(Exception, Cancelled):  # raised already, or nobody wants to hear it
                await step
        await asyncio.to_thread(source.close)


def _until(cancellation: Cancellation, items: Iterator[R]) -> tuple[list[R], Exception | None]:
    """The items as long as they are wanted, and the error that comes after them."""
    taken: list[R] = []
    try:
        for item in items:
            taken.append(item)
            if cancellation.is_requested:
                break
    except Exception as error:  # noqa: BLE001  (whatever it is, the items before it come first)
        return taken, error
    return taken, None
