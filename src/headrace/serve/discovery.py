"""Finds the Flight endpoint of a server from the address of its HTTP endpoint.

An address enters; a Flight location leaves, or the error that the server answered with.
"""

import ssl
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from headrace.errors import HeadraceError, RemoteFailedError
from headrace.serve.client_error import error_of
from headrace.serve.outcome import Refusal

_DISCOVERY_S = 10.0
_MAX_REPLY_BYTES = 1 << 20


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """What a client presents and trusts, in PEM."""

    authority: bytes | None = None
    """The authority that signed the server's certificate; by default those of the system."""
    chain: bytes | None = None
    private_key: bytes | None = None

    def tls_settings(self) -> ssl.SSLContext:
        """Return the TLS settings for an HTTPS request."""
        trusted = None if self.authority is None else self.authority.decode()
        context = ssl.create_default_context(cadata=trusted)
        if self.chain is not None:
            with TemporaryDirectory() as folder:  # OpenSSL reads certificates from files only
                chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
                chain.write_bytes(self.chain)
                key.write_bytes(self.private_key or b"")
                context.load_cert_chain(chain, key)
        return context


class _About(msgspec.Struct, frozen=True):
    flight_port: Annotated[int, msgspec.Meta(ge=1, le=65_535)]


class _Refused(msgspec.Struct, frozen=True):
    error: Refusal


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects: the token would go to another address."""

    def redirect_request(self, *answer: Any) -> None:
        """Return no request; the redirect becomes an error."""


def find_flight(location: str, *, token: str | None, certificates: Certificates) -> str:
    """Return the Flight location: as given, or as reported by the server's HTTP endpoint.

    Raises:
        RemoteFailedError: the HTTP endpoint does not answer.
        HeadraceError: the server refuses to answer, for example without the right token.
    """
    parts = urlsplit(location)
    if parts.scheme not in {"http", "https"}:
        return location
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    request = Request(f"{location.rstrip('/')}/v1", headers=headers)  # noqa: S310  (checked)
    handlers: list[Any] = [_NoRedirect]
    try:
        if parts.scheme == "https":
            handlers.append(HTTPSHandler(context=certificates.tls_settings()))
        with build_opener(*handlers).open(request, timeout=_DISCOVERY_S) as reply:
            content = reply.read(_MAX_REPLY_BYTES)
        port = msgspec.json.decode(content, type=_About).flight_port
    except HTTPError as error:
        raise _refusal(error, location=location) from error
    except (OSError, ValueError, HTTPException, msgspec.MsgspecError) as error:
        raise RemoteFailedError(location=location, reason=str(error)) from error
    secure = "+tls" if parts.scheme == "https" else "+tcp"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"grpc{secure}://{host}:{port}"


def _refusal(error: HTTPError, *, location: str) -> HeadraceError:
    """Return the error with the server's code, if its answer has one."""
    with error:
        content = error.read(_MAX_REPLY_BYTES)
    try:
        refused = msgspec.json.decode(content, type=_Refused).error
    except (ValueError, msgspec.MsgspecError):
        return RemoteFailedError(location=location, reason=str(error))
    return error_of(f"{refused.code}: {refused.message}", location=location)
