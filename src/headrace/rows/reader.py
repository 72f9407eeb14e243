"""The rows of a snapshot as a `pyarrow.RecordBatchReader` that can be closed.

Arrow's own reader over a Python iterator does not tell it of being closed, so the threads behind
it would wait for ever. A stream reader can be derived from, and takes batches in Arrow's stream
format, which is their memory in one piece: errors pass through it with their type.
"""

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from headrace.errors import ReaderClosedError
from headrace.rows.metrics import RowMetrics


class Batches(Protocol):
    """An iterator over batches that can be stopped."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Itself."""

    def __next__(self) -> pa.RecordBatch:
        """The next batch."""

    def close(self) -> None:
        """Stop, and let go of everything."""


class RowReader(pa.ipc.RecordBatchStreamReader):  # type: ignore[misc]
    """Reads rows as they are found. Closing it early stops the log and the data files."""

    def __init__(self, schema: pa.Schema, batches: Batches, *, metrics: RowMetrics) -> None:
        """Wrap batches of one schema; nothing is read before the first is asked for."""
        self._batches = batches
        self.metrics = metrics
        """What it has taken so far."""
        self._stream = _Stream(schema, batches)
        super().__init__(pa.PythonFile(self._stream, mode="r"))

    def close(self) -> None:
        """Stop reading, and wait until no file is open and no thread runs any more.

        Who reads on gets `ReaderClosedError` if there was more to come.
        """
        self._stream.was_cut = not self._stream.has_ended
        self._batches.close()
        super().close()


class _Stream:
    """A file to read from: the schema, then the batches, each made when it is reached."""

    closed = False
    has_ended = False
    was_cut = False

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._message = schema.serialize()
        self._position = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def read(self, size: int) -> pa.Buffer | bytes:
        if self._position == self._message.size:
            batch = None if self.was_cut else next(self._batches, None)
            if self.was_cut:
                raise ReaderClosedError  # an end would pass for that of the rows
            if batch is None:
                self.has_ended = True
                return b""
            self._message, self._position = batch.serialize(), 0
        piece = self._message.slice(self._position, min(size, self._message.size - self._position))
        self._position += piece.size
        return piece

    def close(self) -> None:
        self.closed = True
