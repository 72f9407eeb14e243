"""The HTTP endpoint of a server: an ASGI application for clients such as curl, C# and JavaScript.

A request in the wire format enters, as a JSON body or as query parameters. An Arrow stream or JSON
lines leave, as the `Accept` header asks. The outcome is the last JSON line, or the metadata of a
last, empty Arrow batch.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.errors import (
    HeadraceError,
    MalformedRequestError,
    RequestTooLargeError,
    UnsupportedMediaError,
)
from headrace.serve.descriptor import AcceptErrors
from headrace.serve.framing import OneLength
from headrace.serve.http_status import status_of
from headrace.serve.http_stream import AnswerResponse
from headrace.serve.monitor import Access
from headrace.serve.openapi import describe_api
from headrace.serve.outcome import Refusal
from headrace.serve.record_format import choose_format
from headrace.serve.request import MAX_REQUEST_BYTES, Kind, WireRequest, decode_request
from headrace.serve.service import Service

_BODY_S = 10.0
"""The time that a client may take to send its request."""
_SPARE_THREADS = 16
_NUMBERS = frozenset({"limit", "version", "endpoints"})
_PARAMETERS = frozenset({"table", "where", "limit", "version", "as_of", "strategy", "columns"})

Handler = Callable[[Request, Access], Awaitable[Response]]


def make_app(service: Service, *, flight_port: int | None = None) -> Starlette:
    """Build the ASGI application for a service."""
    api = _Api(service, flight_port)
    routes = [
        Route("/healthz", api.health, methods=["GET"]),
        Route("/readyz", api.ready, methods=["GET"]),
        Route("/openapi.json", api.openapi, methods=["GET"]),
        Route("/metrics", api.guarded(api.metrics), methods=["GET"]),
        Route("/v1", api.guarded(api.about), methods=["GET"]),
        Route("/v1/tables", api.guarded(api.tables), methods=["GET"]),
        Route("/v1/snapshot", api.guarded(api.snapshot), methods=["GET", "POST"]),
        Route("/v1/files", api.guarded(api.files), methods=["GET", "POST"]),
        Route("/v1/rows", api.guarded(api.rows), methods=["GET", "POST"]),
    ]

    @asynccontextmanager
    async def threads(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        # Each stream may block a thread, and asyncio's default pool is small.
        with ThreadPoolExecutor(service.limits.max_streams + _SPARE_THREADS) as pool:
            loop = asyncio.get_running_loop()
            loop.set_default_executor(pool)
            loop.set_exception_handler(AcceptErrors())
            yield

    app = Starlette(
        routes=routes,
        lifespan=threads,
        middleware=[Middleware(OneLength)],
        exception_handlers={HTTPException: api.refuse_http, Exception: api.refuse_fault},
    )
    app.router.redirect_slashes = False  # the address would come from the request's host header
    return app


class _Api:
    """The request handlers."""

    def __init__(self, service: Service, flight_port: int | None) -> None:
        self._service = service
        self._flight_port = flight_port

    def guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a handler: authenticate the caller, and turn errors into statuses."""

        async def handle(request: Request) -> Response:
            access = Access(
                protocol="http",
                method=f"{request.method} {request.scope['path']}",
                peer="-" if request.client is None else f"{request.client.host}",
            )
            try:
                access.caller = self._service.tokens.identify(_authorization(request))
                response = await handler(request, access)
            except Exception as error:
                with suppress(HeadraceError), self._service.recorded(access):
                    raise
                return self._refused(error)
            if not isinstance(response, AnswerResponse):
                with self._service.recorded(access):
                    pass
            return response

        return handle

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        """Report that the process is alive."""
        return _json({"status": "alive"})

    async def ready(self, request: Request) -> Response:  # noqa: ARG002
        """Report whether the server accepts requests."""
        if self._service.slots.is_draining:
            return _json({"status": "draining"}, status=503)
        return _json({"status": "ready", "streams": self._service.slots.running})

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        """Return the OpenAPI description."""
        return _json(describe_api())

    async def metrics(self, request: Request, access: Access) -> Response:  # noqa: ARG002
        """Return the metrics in Prometheus text format."""
        text = self._service.monitor.text()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def about(self, request: Request, access: Access) -> Response:  # noqa: ARG002
        """Describe the server, with the port of its Flight endpoint."""
        return _json(
            {
                "server": "headrace",
                "form": 1,
                "roots": self._service.roots.names,
                "flight_port": self._flight_port,
            }
        )

    async def tables(self, request: Request, access: Access) -> Response:  # noqa: ARG002
        """List the tables below the local roots."""
        names = await asyncio.to_thread(lambda: list(self._service.roots.tables()))
        return _json({"tables": names})

    async def snapshot(self, request: Request, access: Access) -> Response:
        """Describe the snapshot of a request: its version and schema."""
        wire_request = await read_request(request, "files")
        access.table = wire_request.table
        description, _ = await asyncio.to_thread(self._service.describe, wire_request)
        access.version = description.version
        return _json(description)

    async def files(self, request: Request, access: Access) -> Response:
        """Stream live files."""
        return await self._stream(request, access, "files")

    async def rows(self, request: Request, access: Access) -> Response:
        """Stream rows."""
        return await self._stream(request, access, "rows")

    async def _stream(self, request: Request, access: Access, kind: Kind) -> Response:
        records = choose_format(request.headers.get("accept"))
        wire_request = await read_request(request, kind)
        access.kind, access.table = kind, wire_request.table
        if wire_request.endpoints > 1:
            raise MalformedRequestError(reason="endpoints is supported over Flight only")
        answer = await asyncio.to_thread(self._service.open, wire_request)
        if request.method == "HEAD":
            head = Response(media_type=records.media_type)
            del head.headers["content-length"]  # nobody knows it before the scan
            return head
        return AnswerResponse(self._service, answer, access, records, refuse=self._refused)

    def refuse_http(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        """Answer Starlette's own errors, such as an unknown path."""
        assert isinstance(error, HTTPException)
        refusal = Refusal(code=f"HTTP_{error.status_code}", message=error.detail)
        return _json({"error": refusal}, status=error.status_code, headers=error.headers)

    def refuse_fault(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        """Answer an unexpected error with status 500."""
        return _json({"error": self._service.refusal(error)}, status=500)

    def _refused(self, error: BaseException) -> Response:
        status = status_of(error)
        headers = {"www-authenticate": "Bearer"} if status == 401 else None  # noqa: PLR2004
        if status == 503:  # noqa: PLR2004
            headers = {"retry-after": "1"}
        return _json({"error": self._service.refusal(error)}, status=status, headers=headers)


def _authorization(request: Request) -> str | None:
    """Return the `authorization` header; None if there are several, as for Flight."""
    values = request.headers.getlist("authorization")
    return values[0] if len(values) == 1 else None


async def read_request(request: Request, kind: Kind) -> WireRequest:
    """Read the wire request from the query parameters or the body.

    Raises:
        MalformedRequestError, RequestTooLargeError, UnsupportedMediaError: it is not valid.
    """
    if request.method in {"GET", "HEAD"}:
        return decode_request(_form_of(request), kind=kind)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise UnsupportedMediaError(header="content-type", value=media or "none")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise UnsupportedMediaError(header="content-encoding", value=encoding)
    if request.query_params:
        raise MalformedRequestError(reason="use a body or query parameters, not both")
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_REQUEST_BYTES:
                    raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
    except (TimeoutError, ClientDisconnect) as error:
        raise MalformedRequestError(reason="the request body did not arrive in time") from error
    return decode_request(bytes(body), kind=kind)


def _form_of(request: Request) -> bytes:
    """Encode the query parameters as JSON."""
    form: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in _PARAMETERS:
            known = ", ".join(sorted(_PARAMETERS))
            raise MalformedRequestError(reason=f"unknown parameter {name!r}; there are {known}")
        if name in form:
            raise MalformedRequestError(reason=f"the parameter {name} is repeated")
        form[name] = _value(name, value)
    if len(request.scope["query_string"]) > MAX_REQUEST_BYTES:
        raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
    return msgspec.json.encode(form)


def _value(name: str, text: str) -> Any:
    if name in _NUMBERS:
        if not text.isascii() or not text.isdecimal() or len(text) > 19:  # noqa: PLR2004
            raise MalformedRequestError(reason=f"the parameter {name} is not a whole number")
        return int(text)
    if name == "columns":
        return text.split(",")
    if name == "where" and text.lstrip().startswith("{"):
        return msgspec.Raw(_json_text(text))
    return text


def _json_text(text: str) -> bytes:
    try:
        msgspec.json.decode(text)
        return text.encode()
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise MalformedRequestError(reason=f"where is not JSON: {error}") from error


def _json(content: Any, *, status: int = 200, headers: Any = None) -> Response:
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        headers=headers,
        media_type="application/json",
    )
