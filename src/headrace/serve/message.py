"""Turns the batches of a scan into messages of a useful size, sent without much delay.

Batches enter as a scan produces them; messages leave as a consumer asks for them. The first batch
is sent at once. Later ones are joined until they reach a size or an age; large ones are cut. A slow
consumer applies backpressure to the scan. A waiting consumer runs its check every few milliseconds.
"""

import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import ReaderClosedError
from headrace.scan.aio import Stoppable
from headrace.scan.reader import BatchReader

_CHECK_S = 0.01
"""How often a waiting consumer runs its check."""


class FlushPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """When a message is sent, and how large it may be."""

    rows: int = 1_000
    """A message with at least this many rows is sent at once."""
    delay_s: float = 0.05
    """A smaller one is sent when its oldest row has waited this long."""
    size_bytes: int = 2 << 20
    """Larger messages are cut. By default, many gRPC clients refuse more than 4 MiB."""


class BackgroundBatches(BatchReader[pa.RecordBatch]):
    """Reads batches in a background thread. Stopping it also stops the source."""

    def __init__(
        self,
        batches: Stoppable[pa.RecordBatch],
        *,
        to_async: Callable[[Any], AsyncIterator[Any]] | None = None,
    ) -> None:
        """Prepare; the first `next` starts the read."""
        self._batches = batches

        def read() -> Generator[pa.RecordBatch, None, None]:
            try:
                while True:
                    try:
                        yield next(batches)
                    except StopIteration:
                        return
            finally:
                batches.close()

        super().__init__(read(), to_async=to_async)

    def stop(self) -> None:
        """Ask the read to end, without waiting for it."""
        super().stop()
        self._batches.stop()

    def __del__(self) -> None:
        super().__del__()
        self._batches.stop()


class MessageStream:
    """Turns the batches of a scan into messages. One thread consumes it; any thread may stop it."""

    def __init__(
        self, batches: BatchReader[pa.RecordBatch], *, flush_policy: FlushPolicy | None = None
    ) -> None:
        """Prepare; the first `next_message` starts the read."""
        self._flush_policy = flush_policy or FlushPolicy()
        self._batches = batches
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._flush_at = 0.0
        self._is_first = True
        self._has_ended = False
        self._error: BaseException | None = None
        self._ready: deque[pa.RecordBatch] = deque()

    def next_message(self, check: Callable[[], None]) -> pa.RecordBatch | None:
        """Return the next message, or None at the end.

        Args:
            check: Called before each wait, at least every 10 ms; it raises to give up.

        Raises:
            HeadraceError: the scan failed; messages before the failure are returned first.
        """
        while not self._ready:
            check()
            if not self._has_ended:
                self._receive()
            if self._is_due() or (self._has_ended and self._pending):
                self._ready.extend(self._cut(self._joined()))
            elif self._has_ended:
                if self._error is not None:
                    raise self._error
                return None
        return self._ready.popleft()

    def stop(self) -> None:
        """Ask the scan to end soon; a waiting consumer gets `ReaderClosedError`."""
        self._batches.stop()

    def close(self) -> None:
        """Stop, and wait until everything is closed."""
        self._batches.close()

    def _receive(self) -> None:
        """Wait briefly for the next batch."""
        try:
            batch = self._batches.next_within(self._wait_s())
        except StopIteration:
            self._has_ended = True
        except ReaderClosedError:
            raise
        except BaseException as error:  # noqa: BLE001  (raised after the batches before it)
            self._has_ended, self._error = True, error
        else:
            if batch is not None and batch.num_rows:
                self._add(batch)

    def _wait_s(self) -> float:
        if not self._pending:
            return _CHECK_S
        return min(_CHECK_S, max(0.0, self._flush_at - time.monotonic()))

    def _add(self, batch: pa.RecordBatch) -> None:
        if not self._pending:
            self._flush_at = time.monotonic() + self._flush_policy.delay_s
        self._pending.append(batch)
        self._pending_rows += batch.num_rows

    def _is_due(self) -> bool:
        if not self._pending:
            return False
        enough = self._is_first or self._pending_rows >= self._flush_policy.rows
        return enough or time.monotonic() >= self._flush_at

    def _joined(self) -> pa.RecordBatch:
        self._is_first = False
        pending, self._pending, self._pending_rows = self._pending, [], 0
        return pending[0] if len(pending) == 1 else pa.concat_batches(pending)

    def _cut(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Return slices of about `size_bytes` or less; a single row is never cut."""
        count = -(-batch.nbytes // self._flush_policy.size_bytes)
        if count <= 1:
            return [batch]
        rows = max(1, -(-batch.num_rows // count))
        return [batch.slice(start, rows) for start in range(0, batch.num_rows, rows)]
