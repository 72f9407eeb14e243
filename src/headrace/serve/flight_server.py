"""The Arrow Flight endpoint of a server.

A descriptor whose command is a request in the wire format enters `GetFlightInfo`; tickets leave.
A ticket enters `DoGet`; record batches leave. The last batch is empty and carries the outcome in
its `app_metadata`.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import flight

from headrace.errors import (
    HeadraceError,
    MalformedRequestError,
    RequestTooLargeError,
    UnauthenticatedError,
)
from headrace.plan.cancellation import Cancelled
from headrace.serve.answer import Answer
from headrace.serve.flight_status import TranslatedStream, translated
from headrace.serve.monitor import Access
from headrace.serve.request import MAX_REQUEST_BYTES, WireRequest, decode_request
from headrace.serve.service import Service
from headrace.serve.token import ANONYMOUS

_MIDDLEWARE = "caller"
_CALLS = (
    *("list_flights", "get_flight_info", "get_schema", "do_get", "list_actions", "do_action"),
)
"""The methods that clients call."""
_UPLOADS = (flight.FlightMethod.DO_PUT, flight.FlightMethod.DO_EXCHANGE)
"""The methods that are refused before Arrow reads, and so decompresses, their first message."""


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A server's certificate and key in PEM, and the authority for client certificates."""

    certificate: bytes
    key: bytes
    client_authority: bytes | None = None
    """If set, a client must present a certificate signed by this authority."""


class FlightEndpoint(flight.FlightServerBase):  # type: ignore[misc]
    """Exposes a service over Arrow Flight. It listens as soon as it is constructed."""

    def __init__(self, location: str, service: Service, *, tls: TlsFiles | None = None) -> None:
        """Listen at a location such as `grpc://127.0.0.1:50052`."""
        secure: dict[str, Any] = {}
        if tls is not None:
            secure["tls_certificates"] = [(tls.certificate, tls.key)]
            secure["verify_client"] = tls.client_authority is not None
            secure["root_certificates"] = tls.client_authority
        self._service = service
        callers = _CallerFactory(service)
        callers.start_call = translated(callers.start_call, service.refusal)  # type: ignore[method-assign]
        for name in _CALLS:
            setattr(self, name, translated(getattr(self, name), service.refusal))
        super().__init__(location, middleware={_MIDDLEWARE: callers}, **secure)

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[flight.FlightInfo]:
        """List the tables below the local roots whose names begin with `criteria`."""
        with self._request(context, "ListFlights"):
            if len(criteria) > MAX_REQUEST_BYTES:
                raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
            names = self._service.roots.tables()
            beginning = criteria.decode("utf-8", "replace")
            return iter([_listed(name) for name in names if name.startswith(beginning)])

    def get_flight_info(self, context: Any, descriptor: Any) -> flight.FlightInfo:
        """Pin a request to a version, and return a ticket for each of its streams."""
        with self._request(context, "GetFlightInfo") as access:
            request = _request_of(descriptor)
            access.kind, access.table = request.kind, request.table
            description, schema = self._service.describe(request)
            access.version = description.version
            tickets = self._service.issue(request, description, caller=access.caller)
            return flight.FlightInfo(
                schema,
                descriptor,
                [flight.FlightEndpoint(ticket, []) for ticket in tickets],
                -1,
                -1,
                app_metadata=msgspec.json.encode(description),
            )

    def get_schema(self, context: Any, descriptor: Any) -> flight.SchemaResult:
        """Return the schema of an answer."""
        with self._request(context, "GetSchema") as access:
            request = _request_of(descriptor)
            access.kind, access.table = request.kind, request.table
            return flight.SchemaResult(self._service.describe(request)[1])

    def do_get(self, context: Any, ticket: Any) -> flight.GeneratorStream:
        """Stream one share of a flight."""
        access = self._access(context, "DoGet")
        try:
            answer = self._service.redeem(ticket.ticket, caller=access.caller)
        except BaseException:
            with self._service.recorded(access):
                raise
        messages = self._messages(context, answer, access)
        return flight.GeneratorStream(
            answer.schema, TranslatedStream(messages, self._service.refusal)
        )

    def list_actions(self, context: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """List the actions of `DoAction`."""
        return [("health", "Reports whether the server accepts requests.")]

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        """Report whether the server accepts requests."""
        with self._request(context, "DoAction"):
            if action.body is not None and action.body.size > MAX_REQUEST_BYTES:
                raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
            if action.type != "health":
                raise MalformedRequestError(reason="the only supported action is health")
            return [b"draining" if self._service.slots.is_draining else b"ready"]

    def _messages(
        self, context: Any, answer: Answer, access: Access
    ) -> Generator[tuple[pa.RecordBatch, bytes | None], None, None]:
        def check_client() -> None:
            if context.is_cancelled():
                raise Cancelled

        with self._service.recorded(access):
            with self._service.streaming(answer, access) as check_time:

                def check() -> None:
                    check_client()
                    check_time()

                while (batch := self._next(answer, check)) is not None:
                    yield batch, None
                outcome = answer.outcome.encode()
            yield answer.empty(), outcome

    def _next(self, answer: Answer, check: Any) -> pa.RecordBatch | None:
        try:
            return answer.next_message(check)
        except HeadraceError:
            check()  # if the answer was stopped, raise the reason instead
            raise

    @contextmanager
    def _request(self, context: Any, method: str) -> Iterator[Access]:
        """Record a call that does not stream."""
        access = self._access(context, method)
        with self._service.recorded(access):
            yield access

    def _access(self, context: Any, method: str) -> Access:
        middleware = context.get_middleware(_MIDDLEWARE)
        caller = middleware.caller if middleware is not None else ANONYMOUS
        certified = context.peer_identity().decode("utf-8", "replace")
        return Access(
            protocol="flight",
            method=method,
            caller=certified if caller == ANONYMOUS and certified else caller,
            peer=context.peer(),
        )


class _Caller(flight.ServerMiddleware):  # type: ignore[misc]
    """Holds the caller's name during one call."""

    def __init__(self, caller: str) -> None:
        self.caller = caller


class _CallerFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Authenticates each call, and refuses uploads, before Python sees a message."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> _Caller:
        tokens = [
            v for name, values in headers.items() if name.lower() == "authorization" for v in values
        ]
        access = Access(protocol="flight", method=info.method.name)
        try:
            access.caller = self._service.tokens.identify(tokens[0] if len(tokens) == 1 else None)
            _refuse_uploads(info.method)
        except (UnauthenticatedError, MalformedRequestError) as error:
            access.status = error.code
            self._service.monitor.record(access)
            self._service.slots.release_memory()  # gRPC buffered the whole request
            raise
        return _Caller(access.caller)


def _refuse_uploads(method: Any) -> None:
    if method in _UPLOADS:
        raise MalformedRequestError(reason="this server does not accept uploads")


def _listed(table: str) -> flight.FlightInfo:
    descriptor = flight.FlightDescriptor.for_command(WireRequest(table=table).encode())
    return flight.FlightInfo(pa.schema([]), descriptor, [], -1, -1)


def _request_of(descriptor: Any) -> WireRequest:
    if descriptor.descriptor_type == flight.DescriptorType.CMD:
        return decode_request(descriptor.command)
    if descriptor.descriptor_type == flight.DescriptorType.PATH:
        parts = [part.decode("utf-8", "replace") for part in descriptor.path]
        return decode_request(msgspec.json.encode({"table": "/".join(parts)}))
    raise MalformedRequestError(reason="a descriptor must have a command, or the path of a table")
