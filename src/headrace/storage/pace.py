"""Adaptive concurrency limit for requests to one bucket.

When the store throttles, the limit is halved and all requests pause; answers raise it again slowly.
Used from one event loop only, so it needs no locks.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_CONCURRENT = 64
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 5.0


class Pace:
    """Limits the concurrent requests to one bucket."""

    def __init__(self, most_at_once: int = MAX_CONCURRENT) -> None:
        self._most = float(most_at_once)
        self.limit = self._most
        """The number of requests currently allowed in flight."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pause_s = 0.0
        self._resume_at = 0.0

    @property
    def is_backing_off(self) -> bool:
        """Whether the store has only throttled since its last answer."""
        return self._pause_s > 0

    @asynccontextmanager
    async def admitted(self, *, longest_s: float | None = None) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the request is in flight.

        Raises:
            TimeoutError: the wait took longer than `longest_s`.
        """
        async with asyncio.timeout(longest_s):
            await self._take_slot()
        try:
            async with asyncio.timeout(longest_s):
                # The pause may be extended while this request sleeps.
                while (wait_s := self._resume_at - time.monotonic()) > 0:  # noqa: ASYNC110
                    await asyncio.sleep(wait_s)
            yield
        finally:
            self._under_way -= 1
            self._hand_over()

    def answered(self) -> None:
        """Record an answer: end the backoff and raise the limit slightly."""
        self._pause_s = 0.0
        self.limit = min(self.limit + 1 / self.limit, self._most)

    def throttled(self) -> None:
        """Record throttling: halve the limit and pause, doubling the pause each time."""
        now = time.monotonic()
        if now < self._resume_at:  # this request was in flight when the pause began
            return
        self.limit = max(self.limit / 2, 1.0)
        self._pause_s = min(max(self._pause_s * 2, _FIRST_PAUSE_S), _MAX_PAUSE_S)
        self._resume_at = now + self._pause_s

    async def _take_slot(self) -> None:
        if self._under_way < int(self.limit) and not self._waiting:
            self._under_way += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():  # it had the slot already
                self._under_way -= 1
                self._hand_over()
            raise

    def _hand_over(self) -> None:
        """Give the free slots to the waiting requests, first come, first served."""
        while self._waiting and self._under_way < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
