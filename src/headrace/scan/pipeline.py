"""A reader thread that stays a little ahead of its consumer.

The log is read and turned into Arrow while the consumer works on what it already has. The
queue is short, so a slow consumer holds the reader back, and closing ends both at once.
"""

import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing, suppress
from queue import SimpleQueue
from typing import Generic, Self, TypeVar

from headrace.engines.background import Background
from headrace.errors import ReaderClosedError
from headrace.plan.cancellation import Cancellation, Cancelled

R = TypeVar("R")

_AHEAD = 1


class _End:
    """The source has come to its end, with an error or without."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class Pipeline(Generic[R]):
    """An iterator over what a generator makes in a thread of its own.

    It is for `for` and `with`, and in asyncio for `async for` and `async with`.
    """

    def __init__(
        self,
        source: Generator[R, None, None],
        *,
        cancellation: Cancellation | None = None,
        taken: Callable[[R], None] | None = None,
        to_async: Callable[["Pipeline[R]"], AsyncIterator[R]] | None = None,
    ) -> None:
        """Prepare a pipeline; the thread starts with the first item that is asked for.

        Args:
            source: Makes the items, in the reader's thread; it must not have begun.
            cancellation: What the source looks at while it gives nothing.
            taken: Hears of every item that is handed to a consumer.
            to_async: How to iterate in asyncio, closing it at the end without holding up the
                loop; without it only `for` and `with` are possible.
        """
        self._reader = _Reader(source, cancellation or Cancellation())
        self._taken = taken
        self._to_async = to_async
        self._changing = threading.RLock()  # a handler of signals may close it meanwhile
        # It knows the reader alone: so a pipeline that nobody has any more can end it.
        self._reading = Background(self._reader.run, name="headrace-scan")
        self._has_ended = False
        self._was_cut = False

    def __iter__(self) -> Iterator[R]:
        return self

    def __aiter__(self) -> AsyncIterator[R]:
        if self._to_async is None:
            raise TypeError("this pipeline is for `for` and `with` alone")
        return self._to_async(self)

    async def __aenter__(self) -> Self:
        aiter(self)  # refused here if at all, and not when it is left
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.stop()
        # An iteration that is over at once: its end waits for the thread, and not in the loop.
        with suppress(Exception):  # raised already, or nobody wants to hear it
            async for _ in self:
                pass

    def __next__(self) -> R:
        if not self._start():
            raise ReaderClosedError  # an end would pass for that of the source
        item = self._reader.take()
        if not isinstance(item, _End):
            if self._taken is not None:
                self._taken(item)
            return item
        self._reading.wait()
        if self._was_cut:
            raise ReaderClosedError
        self._has_ended = True
        if item.error is not None:
            raise item.error
        raise StopIteration

    def _start(self) -> bool:
        """Start the thread, if nobody has; False: it is too late for that."""
        with self._changing:
            if not self._was_cut:
                self._reading.start()
            return not self._was_cut

    def close(self) -> None:
        """Stop reading, and wait until nothing is open any more.

        Who waits for an item, or asks for one, gets `ReaderClosedError` if the end had not come.
        """
        self.stop()
        self._reading.wait()

    def stop(self) -> None:
        """Let the reading end, and wait for nothing."""
        with self._changing:
            self._was_cut = not self._has_ended
        self._reader.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._reader.stop()


class _Reader(Generic[R]):
    """What happens in the thread: the items of a generator go where consumers take them.

    Both queues are of the kind that a handler of signals may use whatever it interrupts.
    """

    def __init__(self, source: Generator[R, None, None], cancellation: Cancellation) -> None:
        self._source = source
        self._cancellation = cancellation
        self._made: SimpleQueue[R | _End] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(_AHEAD):
            self._room.put(None)

    def run(self) -> None:
        """Read to the end, or until it is stopped; the end always has room."""
        end = _End()
        try:
            with closing(self._source):
                for item in self._source:
                    self._room.get()
                    if self._cancellation.is_requested:
                        break
                    self._made.put(item)
        except Cancelled:
            end = _End(ReaderClosedError())
        except BaseException as error:  # noqa: BLE001  (whatever it is, the consumer must hear it)
            end = _End(error)
        self._made.put(end)

    def take(self) -> R | _End:
        """The next item, as soon as it is there; the end is given to all who ask."""
        self._room.put(None)
        item = self._made.get()
        if isinstance(item, _End):
            self._made.put(item)
        return item

    def stop(self) -> None:
        """Let the thread end, also while it waits for room."""
        self._cancellation.request()
        self._room.put(None)
