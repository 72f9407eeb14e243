"""The Python side of the C library, which runs in the embedded interpreter.

Pointers from the host enter. Files leave through a loop in C that calls the host back, then a
status. It raises nothing and writes nothing to the host's standard error: `headrace_last_error`
returns the error text.
"""

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa

from headrace import wiring
from headrace.errors import (
    DamageError,
    HeadraceError,
    InvalidArgumentError,
    MalformedRequestError,
    RequestError,
    SetupError,
    StorageError,
    TableError,
)
from headrace.plan.cancellation import Cancelled
from headrace.scan.aio import Stoppable
from headrace.scan.scan import Scan
from headrace.serve.answer import file_columns
from headrace.serve.condition import parse_condition
from headrace.serve.message import FlushPolicy, MessageStream
from headrace.serve.request import WireRequest, decode_request
from headrace.serve.unformatted import Unformatted
from headrace.table import Snapshot, Table

BASE = 1000
"""Added to every status, so 0 can only come from a library that failed to start."""
DONE, STOPPED, CANCELLED, INTERNAL = 0, 1, -7, -8
_STATUSES: tuple[tuple[type[HeadraceError], int], ...] = (
    (RequestError, -2),
    (TableError, -3),
    (DamageError, -4),
    (StorageError, -5),
    (SetupError, -6),
)
_MAX_ERROR_BYTES = 4_095
"""What the library keeps of an error's text."""
_AT_ONCE = FlushPolicy(rows=1, delay_s=0.0)

Emit = Callable[[pa.RecordBatch], int]


def register(ffi: Any, lib: Any) -> None:
    """Bind these functions to the ones that C calls."""
    # Without a handler, Python would print warnings to standard error.
    logging.getLogger("headrace").addHandler(logging.NullHandler())
    library = _Library(ffi, lib)
    for name in ("scan_lazy", "scan", "open_stream", "prepare_fork"):
        ffi.def_extern(name=f"headrace_python_{name}")(getattr(library, name))


class _Library:
    """Implements the calls of the host."""

    def __init__(self, ffi: Any, lib: Any) -> None:
        self._ffi = ffi
        self._lib = lib

    def scan_lazy(self, table_path: Any, predicate_json: Any, limit: int, callback: Any) -> int:
        """Implement `delta_scan_lazy`."""
        with self._status() as status:
            predicate = self._text(predicate_json, "predicate_json")
            where = parse_condition(predicate) if predicate else None
            table = self._text(table_path, "table_path") or ""
            scan = Table(table).snapshot().scan(where=where, limit=limit or None)

            def emit(batch: pa.RecordBatch) -> int:
                offsets, text = self._texts(batch["uri"])
                sizes = self._numbers(batch["size_bytes"])
                ending: int = self._lib.headrace_emit_plain(
                    callback, batch.num_rows, offsets, text, sizes
                )
                return ending

            status.append(self._emit_all(scan, ["uri", "size_bytes"], emit))
        return status[-1] + BASE

    def scan(self, request_json: Any, callback: Any, user_data: Any, cancellation: Any) -> int:
        """Implement `headrace_scan`."""
        with self._status() as status:
            request = self._request(request_json)
            if request.kind != "files":
                raise MalformedRequestError(reason="use headrace_open_stream for rows")
            scan = _files(request, _snapshot(request))

            def emit(batch: pa.RecordBatch) -> int:
                offsets, text = self._texts(batch["uri"])
                values = batch["partition_values"].to_pylist(maps_as_pydicts="strict")
                encoded = pa.array([msgspec.json.encode(value).decode() for value in values])
                value_offsets, value_text = self._texts(encoded)
                ending: int = self._lib.headrace_emit_files(
                    callback,
                    user_data,
                    cancellation,
                    batch.num_rows,
                    offsets,
                    text,
                    self._numbers(batch["size_bytes"]),
                    self._numbers(batch["modified_ms"]),
                    value_offsets,
                    value_text,
                )
                return ending

            def check() -> None:
                if self._lib.headrace_is_cancelled(cancellation):
                    raise Cancelled

            columns = ["uri", "size_bytes", "modified_ms", "partition_values"]
            status.append(self._emit_all(scan, columns, emit, check=check))
        return status[-1] + BASE

    def open_stream(self, request_json: Any, out: Any) -> int:
        """Implement `headrace_open_stream`."""
        with self._status() as status:
            request = self._request(request_json)
            snapshot = _snapshot(request)
            if request.kind == "rows":
                rows = snapshot.rows(
                    request.condition,
                    columns=request.columns,
                    limit=request.most,
                    **request.row_overrides,
                )
                schema, batches = rows.schema, self._reported(rows)
            else:
                scan = _files(request, snapshot)
                columns = file_columns(request, snapshot)
                schema = scan.arrow_schema(columns=columns)
                batches = self._reported(scan.batches(columns=columns))
            reader = pa.RecordBatchReader.from_batches(schema, batches)
            reader._export_to_c(int(self._ffi.cast("uintptr_t", out)))  # noqa: SLF001  (Arrow's own)
            status.append(DONE)
        return status[-1] + BASE

    def prepare_fork(self) -> int:
        """Import what scans and reads import on first use.

        A child of the host would wait forever for a module that another thread is importing.
        """
        with self._status() as status:
            wiring.import_readers()
            status.append(DONE)
        return status[-1] + BASE

    def _reported(
        self, batches: Stoppable[pa.RecordBatch]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield batches to a C stream; report an error with its code and without a traceback."""
        text = ""
        try:
            while not text:
                try:
                    batch = next(batches, None)
                except BaseException as error:  # noqa: BLE001  (a host cannot catch it)
                    text = _describe(error)
                    self._set_error(text)
                else:
                    if batch is None:
                        return
                    yield batch
        finally:
            batches.close()
        raise StreamError(text)

    def _emit_all(
        self,
        scan: Scan,
        columns: list[str],
        emit: Emit,
        *,
        check: Callable[[], None] = lambda: None,
    ) -> int:
        messages = MessageStream(scan.batches(columns=columns), flush_policy=_AT_ONCE)
        try:
            while (batch := messages.next_message(check)) is not None:
                match emit(batch):
                    case 0:  # all files were emitted
                        continue
                    case 1:  # the callback stopped the scan
                        return STOPPED
                    case 2:  # the host cancelled it
                        raise Cancelled
                    case _:
                        raise MemoryError
        finally:
            messages.close()
        return DONE

    @contextmanager
    def _status(self) -> Iterator[list[int]]:
        """Turn every error into a status and a text for the host."""
        status: list[int] = []
        try:
            yield status
        except BaseException as error:  # noqa: BLE001  (a host cannot catch it)
            self._set_error(_describe(error))
            status.append(_status_of(error))

    def _set_error(self, text: str) -> None:
        self._lib.headrace_set_error(text.encode())

    def _request(self, pointer: Any) -> WireRequest:
        request = decode_request(self._text(pointer, "request_json") or "")
        if request.endpoints > 1:
            raise MalformedRequestError(reason="endpoints is supported by a server only")
        return request

    def _text(self, pointer: Any, argument: str) -> str | None:
        if pointer == self._ffi.NULL:
            return None
        try:
            text: str = self._ffi.string(pointer).decode()
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(argument=argument, reason="it is not UTF-8") from error
        return text

    def _texts(self, column: pa.StringArray) -> tuple[Any, Any]:
        """Return pointers to the offsets and the bytes of a column."""
        _, offsets, text = column.buffers()
        address = offsets.address + 4 * column.offset
        bytes_at = 0 if text is None else text.address
        return self._ffi.cast("int32_t *", address), self._ffi.cast("char *", bytes_at)

    def _numbers(self, column: pa.Int64Array) -> Any:
        return self._ffi.cast("int64_t *", column.buffers()[1].address + 8 * column.offset)


class StreamError(Unformatted, OSError):  # type: ignore[misc]  # refuses an attribute
    """Ends a C stream with the text of another error."""


def _status_of(error: BaseException) -> int:
    if isinstance(error, Cancelled):
        return CANCELLED
    return next((number for kind, number in _STATUSES if isinstance(error, kind)), INTERNAL)


def _describe(error: BaseException) -> str:
    """Return the code and the text of an error, as much of it as the library keeps."""
    if isinstance(error, Cancelled):
        return "CANCELLED: the scan was cancelled"
    if isinstance(error, HeadraceError):
        text = f"{error.code}: {error}"
    else:
        text = f"INTERNAL: {type(error).__name__}: {error}"
    return text.encode("utf-8", "replace")[:_MAX_ERROR_BYTES].decode("utf-8", "ignore")


def _snapshot(request: WireRequest) -> Snapshot:
    return Table(request.table).snapshot(request.version, as_of=request.as_of)


def _files(request: WireRequest, snapshot: Snapshot) -> Scan:
    return snapshot.scan(request.condition, limit=request.most, **request.scan_overrides)
