"""Refuses HTTP requests whose length can be read in two ways, before another handler sees them.

A proxy and this server might disagree about where such a request ends, and the server would take
the rest of it for a request of another client.
"""

from typing import Any

import msgspec
from starlette.responses import Response

from headrace.errors import MalformedRequestError
from headrace.serve.outcome import Refusal

_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})


class OneLength:
    """An ASGI application that passes on requests with at most one length."""

    def __init__(self, app: Any) -> None:
        """Take the application that answers."""
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request with two lengths with status 400, and close its connection."""
        app = self._app
        if scope["type"] == "http" and {name for name, _ in scope["headers"]} >= _LENGTHS:
            app = _refusal()
        await app(scope, receive, send)


def _refusal() -> Response:
    error = MalformedRequestError(reason="it has a content-length and a transfer-encoding")
    return Response(
        msgspec.json.encode({"error": Refusal.of(error, str(error))}),
        status_code=400,
        headers={"connection": "close"},
        media_type="application/json",
    )
