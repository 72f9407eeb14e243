"""Reads the streamed answers of a server, and verifies that they are complete.

A request enters; record batches or `LiveFile` values leave. An answer that ends without its
outcome raises. Closing an answer cancels the call, which stops the read on the server.
"""

import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import flight

from headrace.errors import (
    HeadraceError,
    InvalidArgumentError,
    StreamIncompleteError,
    TicketExpiredError,
)
from headrace.plan.cancellation import Cancellation
from headrace.protocol.action import DeletionVector
from headrace.rows.reader import RowReader
from headrace.scan.aio import in_bulk, one_by_one
from headrace.scan.argument import column_names
from headrace.scan.live_file import FileContext, LiveFile
from headrace.scan.options import ScanOptions
from headrace.scan.reader import BatchReader
from headrace.serve.client_error import remote_errors
from headrace.serve.client_flight import Caller, PinnedFlight
from headrace.serve.message import BackgroundBatches
from headrace.serve.outcome import Outcome

_HIDDEN = "typed_partition_values"


class RemoteBatches:
    """Reads the batches of an answer, one endpoint after the other; any thread may stop it."""

    def __init__(
        self,
        caller: Caller,
        tickets: Sequence[Any],
        *,
        renew: Callable[[], Sequence[Any]] | None = None,
    ) -> None:
        """Prepare; the first stream starts with the first `next`.

        Args:
            caller: The connection to the server.
            tickets: The tickets of the streams.
            renew: Returns new tickets for the same streams, to replace expired ones.
        """
        self._caller = caller
        self._tickets = tickets
        self._renew = renew
        self._cancellation = Cancellation()
        self._lock = threading.Lock()
        self._reader: flight.FlightStreamReader | None = None
        self.outcomes: list[Outcome] = []
        """The outcomes of the endpoints that have ended."""
        self._batches = self._read()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def lift_backpressure(self) -> None:
        """Do nothing: the server paces the stream."""

    def stop(self) -> None:
        """Cancel the call; a thread that waits for a batch sees the end."""
        self._cancellation.request()
        with self._lock:
            if self._reader is not None:
                self._reader.cancel()

    def close(self) -> None:
        """Cancel the call and release it."""
        self.stop()
        with suppress(ValueError):  # another thread is reading, and ends by itself
            self._batches.close()

    def __del__(self) -> None:
        self.stop()

    def _read(self) -> Generator[pa.RecordBatch, None, None]:
        for part in range(len(self._tickets)):
            if self._cancellation.is_requested:
                return
            is_whole = False
            for chunk in self._chunks(part):
                if chunk.app_metadata is not None:
                    content = chunk.app_metadata.to_pybytes()
                    self.outcomes.append(msgspec.json.decode(content, type=Outcome))
                    is_whole = True
                if chunk.data is not None and chunk.data.num_rows:
                    yield chunk.data
            if not is_whole and not self._cancellation.is_requested:
                raise StreamIncompleteError(location=self._caller.location)

    def _chunks(self, part: int) -> Iterator[Any]:
        """Yield the messages of a stream; start it again if its ticket has expired."""
        try:
            reader, chunk = self._start(part)
        except TicketExpiredError:  # raised for the first message only
            if self._renew is None:
                raise
            self._tickets = self._renew()
            reader, chunk = self._start(part)
        while chunk is not None:
            yield chunk
            chunk = self._chunk(reader)

    def _start(self, part: int) -> tuple[flight.FlightStreamReader, Any]:
        """Start a stream, and return it with its first message."""
        reader = self._caller.open(self._tickets[part])
        with self._lock:
            self._reader = reader
        return reader, self._chunk(reader)

    def _chunk(self, reader: flight.FlightStreamReader) -> Any:
        try:
            with remote_errors(self._caller.location):
                return reader.read_chunk()
        except StopIteration:
            return None
        except HeadraceError:
            if self._cancellation.is_requested:
                return None
            raise


class RemoteScan:
    """A lazy iterable of a server's live files, with the interface of `headrace.Scan`."""

    def __init__(
        self,
        pinned: PinnedFlight,
        *,
        context: FileContext,
        options: ScanOptions,
        limit: int | None,
    ) -> None:
        """Prepare; users get scans from `RemoteSnapshot.scan`.

        Raises:
            RequestError: the server refuses the condition or an option.
        """
        self.request = pinned.request
        self.where = self.request.condition
        self.limit = limit
        self.options = options
        self.context = context
        self._flight = pinned
        self._info = pinned.info()
        self._batches: RemoteBatches | None = None
        described = msgspec.json.decode(self._info.app_metadata, type=dict[str, Any])
        self.not_evaluated: tuple[str, ...] = tuple(described["not_evaluated"])
        """The parts of the condition that cannot prune files."""

    def __repr__(self) -> str:
        arguments = {"version": self.request.version, "where": self.where, "limit": self.limit}
        shown = (f"{name}={value!r}" for name, value in arguments.items() if value is not None)
        return f"RemoteScan({self.request.table!r}, {', '.join(shown)})"

    @property
    def outcome(self) -> Outcome | None:
        """The server's outcome of the last iteration; None before its end.

        With several endpoints it is the outcome of the last one, with the total count.
        """
        outcomes = [] if self._batches is None else self._batches.outcomes
        if not outcomes or len(outcomes) < len(self._info.endpoints):
            return None
        count = sum(outcome.count for outcome in outcomes)
        return msgspec.structs.replace(outcomes[-1], count=count)

    @property
    def metrics(self) -> dict[str, Any]:
        """The server's metrics of the last iteration; empty before its end."""
        return {} if self.outcome is None else self.outcome.metrics

    def batches(self, *, columns: Sequence[str] | None = None) -> BatchReader[pa.RecordBatch]:
        """Return the live files as record batches, as the server sends them.

        Args:
            columns: Column names; by default all that the server sends.

        Raises:
            HeadraceError: the server refuses. Reading the batches raises what ended its scan.
        """
        pinned, info = self._flight, self._info
        if columns is not None:
            pinned = pinned.with_columns(column_names(columns))
            info = pinned.info()
        batches = RemoteBatches(pinned.caller, self._tickets(info), renew=pinned.tickets)
        self._batches = batches
        return BackgroundBatches(batches, to_async=one_by_one)

    def open_parts(self) -> list[BatchReader[pa.RecordBatch]]:
        """Return one reader per endpoint of the flight, to be read in parallel."""
        return [self._open_part(part) for part in range(len(self._tickets(self._info)))]

    def _open_part(self, part: int) -> BatchReader[pa.RecordBatch]:
        batches = RemoteBatches(
            self._flight.caller,
            [self._info.endpoints[part].ticket],
            renew=lambda: [self._flight.tickets()[part]],
        )
        return BackgroundBatches(batches, to_async=one_by_one)

    def __iter__(self) -> Iterator[LiveFile]:
        with self.batches() as batches:
            for batch in batches:
                yield from live_files(batch, self.context)

    async def __aiter__(self) -> AsyncIterator[LiveFile]:
        batches = self.batches()

        def files() -> Generator[LiveFile, None, None]:
            for batch in batches:
                yield from live_files(batch, self.context)

        cancellation = Cancellation()
        try:
            async for file in in_bulk(files(), cancellation):
                yield file
        finally:
            batches.stop()

    def count(self) -> int:
        """Return the number of files."""
        with self.batches(columns=["size_bytes"]) as batches:
            return sum(batch.num_rows for batch in batches)

    def arrow_schema(self, *, columns: Sequence[str] | None = None) -> pa.Schema:
        """Return the schema of the batches."""
        schema = self._info.schema
        if columns is None:
            return schema
        names = column_names(columns)
        for name in names:
            if name not in schema.names:
                reason = f"there is no {name!r}; there are {', '.join(schema.names)}"
                raise InvalidArgumentError(argument="columns", reason=reason)
        return pa.schema([schema.field(name) for name in names], schema.metadata)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the live files to libraries that read Arrow, such as `polars.DataFrame(scan)`."""
        reader = pa.RecordBatchReader.from_batches(self.arrow_schema(), self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the live files to libraries that read Arrow."""
        return self.arrow_schema().__arrow_c_schema__()

    def _tickets(self, info: flight.FlightInfo) -> list[flight.Ticket]:
        return [] if self.limit == 0 else [endpoint.ticket for endpoint in info.endpoints]


class RemoteReader(RowReader):
    """Reads rows from a server. Closing it early stops the read on the server."""

    @classmethod
    def open(cls, pinned: PinnedFlight, *, is_empty: bool) -> "RemoteReader":
        """Request rows; streaming starts when the first batch is read.

        Raises:
            RequestError: the server refuses the condition, a column or an option.
        """
        info = pinned.info()
        tickets = [] if is_empty else [endpoint.ticket for endpoint in info.endpoints]
        batches = RemoteBatches(pinned.caller, tickets, renew=pinned.tickets)
        metrics: Any = RemoteMetrics(batches)  # the server's counts, by name
        return cls(info.schema, batches, metrics=metrics)


class RemoteMetrics:
    """The server's metrics of a row read."""

    def __init__(self, batches: RemoteBatches) -> None:
        self._batches = batches

    def as_dict(self) -> dict[str, Any]:
        """Return all metrics by name; empty before the end."""
        return {} if not self._batches.outcomes else self._batches.outcomes[-1].metrics


def live_files(batch: pa.RecordBatch, context: FileContext) -> Iterator[LiveFile]:
    """Yield the files of a batch that has all columns."""
    names = [name for name in batch.schema.names if name not in {"uri", "dv_id", _HIDDEN}]
    for row in batch.select(names).to_pylist(maps_as_pydicts="strict"):
        vector = row.pop("deletion_vector")
        yield LiveFile(
            deletion_vector=None if vector is None else DeletionVector(**vector),
            context=context,
            **row,
        )
