"""Messages of a good size at the right time: the first file at once, then by size or by clock.

Batches enter as a scan finds them, in a thread of their own; messages leave as a consumer asks
for them. A message is sent when it has enough rows or has waited long enough. A slow consumer
holds the scan back. Whoever waits looks up often whether the answer is still wanted.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec
import pyarrow as pa

from headrace.engines.background import Background
from headrace.errors import ReaderClosedError

_LOOK_UP_S = 0.01
"""How often a consumer that waits looks whether it should."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """When a message is sent."""

    rows: int = 1_000
    """With at least this many rows, at once."""
    delay_s: float = 0.05
    """With fewer, when the oldest of them has waited this long."""


class Batches(Protocol):
    """Record batches that can be stopped from another thread."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Itself."""

    def __next__(self) -> pa.RecordBatch:
        """The next batch."""

    def stop(self) -> None:
        """Let the reading end soon, without waiting for it."""

    def close(self) -> None:
        """Stop, and let go of everything."""


class PacedMessages:
    """The batches of a scan, joined to messages. One thread consumes it; any thread may stop it."""

    def __init__(self, batches: Batches, *, pace: Pace | None = None) -> None:
        """Prepare; nothing is read before the first message is asked for."""
        self._pace = pace or Pace()
        self._lane = _Lane(batches)
        self._reading = Background(self._lane.fill, name="headrace-serve")
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._flush_at = 0.0
        self._is_first = True

    def next_message(self, check: Callable[[], None]) -> pa.RecordBatch | None:
        """The next message; None at the end.

        Args:
            check: Called again and again while nothing comes; it raises to give up.

        Raises:
            HeadraceError: whatever ended the scan, after the messages before it.
        """
        self._reading.start()
        while True:
            check()
            batch, is_over = self._lane.take(self._wait_s())
            if batch is not None and batch.num_rows:
                self._add(batch)
            if self._is_due() or (is_over and self._pending):
                return self._joined()
            if is_over:
                self._lane.raise_error()
                return None

    def stop(self) -> None:
        """Let the scan end soon; the consumer, if one waits, gets `ReaderClosedError`."""
        self._lane.stop()

    def close(self) -> None:
        """Stop, and wait until nothing is open any more."""
        self._lane.stop()
        if self._reading.is_over():
            return
        self._reading.wait()

    def __del__(self) -> None:
        self._lane.stop()

    def _wait_s(self) -> float:
        if not self._pending:
            return _LOOK_UP_S
        return min(_LOOK_UP_S, max(0.0, self._flush_at - time.monotonic()))

    def _add(self, batch: pa.RecordBatch) -> None:
        if not self._pending:
            self._flush_at = time.monotonic() + self._pace.delay_s
        self._pending.append(batch)
        self._pending_rows += batch.num_rows

    def _is_due(self) -> bool:
        if not self._pending:
            return False
        enough = self._is_first or self._pending_rows >= self._pace.rows
        return enough or time.monotonic() >= self._flush_at

    def _joined(self) -> pa.RecordBatch:
        self._is_first = False
        pending, self._pending, self._pending_rows = self._pending, [], 0
        return pending[0] if len(pending) == 1 else pa.concat_batches(pending)


class _Lane:
    """One place for a batch between the thread that reads and the one that sends."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._changed = threading.Condition(threading.RLock())
        self._ready: deque[pa.RecordBatch] = deque()
        self._is_stopping = False
        self._has_ended = False
        self._error: BaseException | None = None

    def fill(self) -> None:
        """Read to the end, or until it is stopped."""
        error: BaseException | None = None
        try:
            for batch in self._batches:
                with self._changed:
                    self._changed.wait_for(lambda: not self._ready or self._is_stopping)
                    if self._is_stopping:
                        break
                    self._ready.append(batch)
                    self._changed.notify_all()
        except BaseException as raised:  # noqa: BLE001  (the consumer must hear whatever it is)
            error = raised
        finally:
            self._batches.close()
        with self._changed:
            self._error = error
            self._has_ended = True
            self._changed.notify_all()

    def take(self, wait_s: float) -> tuple[pa.RecordBatch | None, bool]:
        """A batch if one comes in time, and whether none will come any more."""
        with self._changed:
            if not self._ready and not self._has_ended and wait_s > 0:
                self._changed.wait(wait_s)
            if self._is_stopping:
                raise ReaderClosedError
            batch = self._ready.popleft() if self._ready else None
            self._changed.notify_all()
            return batch, self._has_ended and not self._ready

    def raise_error(self) -> None:
        """Raise what ended the reading, if anything did."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        with self._changed:
            self._is_stopping = True
            self._ready.clear()
            self._changed.notify_all()
        self._batches.stop()
