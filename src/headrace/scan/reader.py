"""The reader that `Scan.batches` returns: an iterator that reads a little ahead of its consumer.

A generator of batches enters; it runs in a thread of its own, so the log is read and turned into
Arrow while the consumer works on earlier batches. The same batches leave, for `for` and `with` and
in asyncio for `async for` and `async with`. Closing the reader ends the thread.
"""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Self, TypeVar

from headrace.engines.producer import Producer
from headrace.plan.cancellation import Cancellation

R = TypeVar("R")


class BatchReader(Producer[R]):
    """An iterator over the batches of a generator, one of which is read ahead."""

    def __init__(
        self,
        source: Generator[R, None, None],
        *,
        cancellation: Cancellation | None = None,
        taken: Callable[[R], None] | None = None,
        to_async: Callable[["BatchReader[R]"], AsyncIterator[R]] | None = None,
    ) -> None:
        """Prepare a reader; its thread starts when the first batch is asked for.

        Args:
            source: Makes the batches, in the reader's thread; it must not have begun.
            cancellation: What the source checks while it has nothing to give.
            taken: Called with every batch that is handed to a consumer.
            to_async: How to iterate in asyncio, closing the reader at the end without blocking the
                loop; without it only `for` and `with` are possible.
        """
        super().__init__(lambda _: source, cancellation=cancellation, name="headrace-scan")
        self._taken = taken
        self._to_async = to_async

    def __next__(self) -> R:
        batch = super().__next__()
        if self._taken is not None:
            self._taken(batch)
        return batch

    def next_within(self, seconds: float) -> R | None:
        """Return the next batch, or None if it takes longer."""
        batch = super().next_within(seconds)
        if batch is not None and self._taken is not None:
            self._taken(batch)
        return batch

    def __aiter__(self) -> AsyncIterator[R]:
        if self._to_async is None:
            raise TypeError("this reader is for `for` and `with` alone")
        return self._to_async(self)

    async def __aenter__(self) -> Self:
        aiter(self)  # refused here if at all, and not on leaving
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.stop()
        # This iteration is over at once: its end waits for the thread outside the loop.
        with suppress(Exception):  # raised already, or of no interest any more
            async for _ in self:
                pass
