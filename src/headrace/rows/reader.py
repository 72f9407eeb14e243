"""The rows of a snapshot as a `pyarrow.RecordBatchReader` that can be closed.

Of Arrow's readers, a Python class can derive only from the one of the IPC stream format. C++ code
that takes the reader itself reads such a stream; Python code and consumers of the C stream get
the batches themselves, without a copy. All of them take from the same batches, and closing the
reader or releasing the C stream stops the reading.

Errors keep their type in Python. The C interface passes only messages, which contain the error's
code; `error` is the error itself.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any, Protocol

import pyarrow as pa

from headrace.errors import ReaderClosedError, UnsupportedFeatureError
from headrace.rows.metrics import ChangeMetrics, RowMetrics
from headrace.scan.aio import one_by_one


class Batches(Protocol):
    """An iterator over batches that can be stopped."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Return itself."""

    def __next__(self) -> pa.RecordBatch:
        """Return the next batch."""

    def lift_backpressure(self) -> None:
        """Read on without waiting for the consumer, which keeps every batch."""

    def stop(self) -> None:
        """Request the end of reading without waiting for it."""

    def close(self) -> None:
        """Stop reading, and release all resources."""


class RowReader(pa.ipc.RecordBatchStreamReader):  # type: ignore[misc]
    """Reads rows on demand. Closing it early stops reading the log and the data files."""

    def __init__(
        self, schema: pa.Schema, batches: Batches, *, metrics: RowMetrics | ChangeMetrics
    ) -> None:
        """Wrap batches of one schema; nothing is read before the first is requested.

        Raises:
            UnsupportedFeatureError: the schema is nested more deeply than Arrow's format allows.
        """
        self._source = _Source(batches)
        self.metrics = metrics
        """What the reading has cost so far."""
        try:
            super().__init__(pa.PythonFile(_Stream(schema, self._source), mode="r"))
        except OSError as error:
            # Arrow's IPC format limits the depth of types.
            features = ["columns with this many levels of nested types"]
            raise UnsupportedFeatureError(table="rows", features=features) from error

    @property
    def error(self) -> BaseException | None:
        """The error that ended the reading, if any, also if a C stream reported it."""
        return self._source.error

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._source)

    def read_next_batch(self) -> pa.RecordBatch:
        """Return the next batch; raise `StopIteration` at the end."""
        return next(self._source)

    def read_next_batch_with_custom_metadata(self) -> tuple[pa.RecordBatch, None]:
        """Return the next batch and its custom metadata, which is None."""
        return next(self._source), None

    def iter_batches_with_custom_metadata(self) -> Iterator[tuple[pa.RecordBatch, None]]:
        """Yield the remaining batches and their custom metadata, which is None."""
        for batch in self._source:
            yield batch, None

    def read_all(self) -> pa.Table:
        """Return the remaining rows.

        All batches are kept until the end, so files are read without waiting for the consumer.
        """
        self._source.lift_backpressure()
        return pa.Table.from_batches(self._source, schema=self.schema)

    def read_pandas(self, **options: Any) -> Any:
        """Return the remaining rows as a pandas frame."""
        return self.read_all().to_pandas(**options)

    def cast(self, target_schema: pa.Schema) -> pa.RecordBatchReader:
        """Return a plain reader of the rows in other types."""
        return self._handed_over().cast(target_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._handed_over().__arrow_c_stream__(requested_schema)

    def _export_to_c(self, out_ptr: int) -> None:
        self._handed_over()._export_to_c(out_ptr)  # noqa: SLF001  (Arrow's own, under its name)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the rows."""
        return self.schema.__arrow_c_schema__()

    def __aiter__(self) -> AsyncIterator[pa.RecordBatch]:
        """Iterate over the batches in asyncio; a thread waits for them, not the loop."""
        return one_by_one(self)

    def stop(self) -> None:
        """Request the end of reading without waiting for it."""
        self._source.stop()

    def close(self) -> None:
        """Stop reading, and wait until all files are closed and all threads have ended.

        Reading on raises `ReaderClosedError` if there were more rows.
        """
        self._source.close()
        super().close()

    def _handed_over(self) -> pa.RecordBatchReader:
        """Return a reader of Arrow's own; releasing it stops the reading."""
        return pa.RecordBatchReader.from_batches(self.schema, self._source.until_released())


class _Source:
    """The batches, and how they ended."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._has_ended = False
        self._was_cut = False
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._was_cut:
            raise ReaderClosedError  # a plain end would look like the end of the rows
        try:
            batch = next(self._batches)
        except StopIteration:
            if self._was_cut:  # another thread closed it while this one was waiting
                raise ReaderClosedError from None
            self._has_ended = True
            raise
        except ReaderClosedError:
            if self._was_cut:
                raise
            self.error = ReaderClosedError()
            raise
        except BaseException as error:
            self.error = error
            raise
        if self._was_cut:
            raise ReaderClosedError
        return batch

    def until_released(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield the batches to a new owner, whose release closes them."""
        try:
            yield from self
        finally:
            self.close()

    def lift_backpressure(self) -> None:
        self._batches.lift_backpressure()

    def stop(self) -> None:
        self._was_cut = self._was_cut or not (self._has_ended or self.error)
        self._batches.stop()

    def close(self) -> None:
        self._was_cut = self._was_cut or not (self._has_ended or self.error)
        self._batches.close()


class _Stream:
    """A file of the IPC stream: the schema, then each batch, serialised on demand."""

    closed = False

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
            batch = next(self._batches, None)
            if batch is None:
                return b""
            self._message, self._position = batch.serialize(), 0
        piece = self._message.slice(self._position, min(size, self._message.size - self._position))
        self._position += piece.size
        return piece

    def close(self) -> None:
        self.closed = True
