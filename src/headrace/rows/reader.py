"""The rows of a snapshot as a `pyarrow.RecordBatchReader` that can be closed.

A Python class can derive from no other reader of Arrow's than the one of its stream format. So
this one is fed such a stream, for C++ code that takes a reader as it is. Everybody else (Python,
and whoever asks for a C stream) is handed the batches themselves, without a copy. Both take from
the same batches, which are stopped when the reader is closed or the C stream is released.

Errors keep their type in Python. The C interface knows only texts: there the error's text has its
code, and `error` the error itself.
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
        """Itself."""

    def __next__(self) -> pa.RecordBatch:
        """The next batch."""

    def stop(self) -> None:
        """Let the reading end soon, without waiting for it."""

    def close(self) -> None:
        """Stop, and let go of everything."""


class RowReader(pa.ipc.RecordBatchStreamReader):  # type: ignore[misc]
    """Reads rows as they are found. Closing it early stops the log and the data files."""

    def __init__(
        self, schema: pa.Schema, batches: Batches, *, metrics: RowMetrics | ChangeMetrics
    ) -> None:
        """Wrap batches of one schema; nothing is read before the first is asked for.

        Raises:
            UnsupportedFeatureError: the schema is nested more deeply than Arrow's format allows.
        """
        self._source = _Source(batches)
        self.metrics = metrics
        """What it has taken so far."""
        try:
            super().__init__(pa.PythonFile(_Stream(schema, self._source), mode="r"))
        except OSError as error:
            # Arrow's stream format takes types of some depth only.
            features = ["columns with this many levels of nested types"]
            raise UnsupportedFeatureError(table="rows", features=features) from error

    @property
    def error(self) -> BaseException | None:
        """What ended it too early, also where that was told through the C interface."""
        return self._source.error

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._source)

    def read_next_batch(self) -> pa.RecordBatch:
        """The next batch; `StopIteration` at the end."""
        return next(self._source)

    def read_next_batch_with_custom_metadata(self) -> tuple[pa.RecordBatch, None]:
        """The same in the form of a stream that has notes, of which there are none."""
        return next(self._source), None

    def iter_batches_with_custom_metadata(self) -> Iterator[tuple[pa.RecordBatch, None]]:
        """All that are left, likewise."""
        for batch in self._source:
            yield batch, None

    def read_all(self) -> pa.Table:
        """All rows that are left."""
        return pa.Table.from_batches(self._source, schema=self.schema)

    def read_pandas(self, **options: Any) -> Any:
        """All rows that are left, as a pandas frame."""
        return self.read_all().to_pandas(**options)

    def cast(self, target_schema: pa.Schema) -> pa.RecordBatchReader:
        """The rows in other types, as a plain reader."""
        return self._handed_over().cast(target_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._handed_over().__arrow_c_stream__(requested_schema)

    def _export_to_c(self, out_ptr: int) -> None:
        self._handed_over()._export_to_c(out_ptr)  # noqa: SLF001  (Arrow's own, under its name)

    def __arrow_c_schema__(self) -> object:
        """The schema of the rows, for libraries that take Arrow."""
        return self.schema.__arrow_c_schema__()

    def __aiter__(self) -> AsyncIterator[pa.RecordBatch]:
        """The batches in asyncio: threads wait for them, and the loop does not."""
        return one_by_one(self)

    def stop(self) -> None:
        """Let the reading end soon, without waiting for it."""
        self._source.stop()

    def close(self) -> None:
        """Stop reading, and wait until no file is open and no thread runs any more.

        Who reads on gets `ReaderClosedError` if there was more to come.
        """
        self._source.close()
        super().close()

    def _handed_over(self) -> pa.RecordBatchReader:
        """A reader of Arrow's own over the batches: they are stopped when it is let go."""
        return pa.RecordBatchReader.from_batches(self.schema, self._source.until_released())


class _Source:
    """The batches, and how they have ended."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._has_ended = False
        self._was_cut = False
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._was_cut:
            raise ReaderClosedError  # an end would pass for that of the rows
        try:
            batch = next(self._batches)
        except StopIteration:
            if self._was_cut:  # by another thread, while this one was waiting
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
        """The batches for another owner, with whom they end."""
        try:
            yield from self
        finally:
            self.close()

    def stop(self) -> None:
        self._was_cut = self._was_cut or not (self._has_ended or self.error)
        self._batches.stop()

    def close(self) -> None:
        self._was_cut = self._was_cut or not (self._has_ended or self.error)
        self._batches.close()


class _Stream:
    """A file to read from: the schema, then the batches, each made when it is reached."""

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
