"""The reader that `Scan.batches` returns: an iterator that reads ahead of its consumer.

A generator of batches enters; it runs in a separate thread, so the log is read and converted to
Arrow while the consumer works on earlier batches. The same batches leave, with `for` and `with`,
or in asyncio with `async for` and `async with`. Closing the reader ends the thread.
"""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Self, TypeVar

from headrace.engines.producer import Producer
from headrace.plan.cancellation import Cancellation

R = TypeVar("R")


class BatchReader(Producer[R]):
    """An iterator over the batches of a generator, with one batch read ahead."""

    def __init__(
        self,
        source: Generator[R, None, None],
        *,
        cancellation: Cancellation | None = None,
        taken: Callable[[R], None] | None = None,
        to_async: Callable[["BatchReader[R]"], AsyncIterator[R]] | None = None,
    ) -> None:
        """Prepare a reader; its thread starts with the first `next`.

        Args:
            source: Produces the batches in the reader's thread; it must not have started.
            cancellation: Cancels the source while it waits for a batch.
            taken: Called with every batch that a consumer takes.
            to_async: Iterates in asyncio, and closes the reader at the end without blocking the
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
            raise TypeError("this reader supports only `for` and `with`")
        return self._to_async(self)

    async def __aenter__(self) -> Self:
        aiter(self)  # raises here rather than on exit
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.stop()
        # This iteration ends at once; its end waits for the thread outside the event loop.
        with suppress(Exception):  # already raised, or no longer relevant
            async for _ in self:
                pass
