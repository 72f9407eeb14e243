"""Signed, expiring tickets that carry a pinned request from GetFlightInfo to DoGet.

A request pinned to a version enters, with its caller; bytes leave. A server accepts a ticket only
if it has the same key and the ticket is unchanged, not expired, and presented by the same caller.
"""

import hashlib
import hmac
import secrets
import time
from pathlib import Path

import msgspec

from headrace.errors import InvalidArgumentError, InvalidTicketError, TicketExpiredError
from headrace.serve.request import WireRequest, decode_request

_MAGIC = b"hrt1"
_SIGNATURE_BYTES = 32
MAX_TICKET_BYTES = 128 << 10
_MIN_KEY = 32


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """One stream of a flight."""

    request: WireRequest
    """The request, pinned to a version."""
    table_id: str
    """The id of the table when the ticket was issued, to detect a replaced table."""
    part: int = 0
    """The number of the endpoint, from 0."""
    caller: str
    expires_ms: int

    @property
    def parts(self) -> int:
        """The number of endpoints."""
        return self.request.endpoints


class _Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    request: msgspec.Raw
    table_id: str
    part: int
    caller: str
    expires_ms: int


class TicketSigner:
    """Issues and checks tickets."""

    def __init__(self, *, key: bytes | None = None, lifetime_s: float = 300.0) -> None:
        """Take the key, by default a random one, and the lifetime of tickets."""
        self._key = key or secrets.token_bytes(_MIN_KEY)
        self.lifetime_s = lifetime_s

    def issue(self, request: WireRequest, *, table_id: str, part: int, caller: str) -> bytes:
        """Return a ticket for one part of a request."""
        payload = msgspec.json.encode(
            _Payload(
                request=msgspec.Raw(request.encode()),
                table_id=table_id,
                part=part,
                caller=caller,
                expires_ms=int((time.time() + self.lifetime_s) * 1000),
            )
        )
        return _MAGIC + self._sign(payload) + payload

    def check(self, ticket: bytes, *, caller: str) -> Ticket:
        """Verify and decode a ticket.

        Raises:
            InvalidTicketError: it was not issued with this key, or not for this caller.
            TicketExpiredError: it is too old.
        """
        if len(ticket) > MAX_TICKET_BYTES or not ticket.startswith(_MAGIC):
            raise InvalidTicketError  # before a slice copies it
        head = len(_MAGIC) + _SIGNATURE_BYTES
        signature, payload = ticket[len(_MAGIC) : head], ticket[head:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            raise InvalidTicketError
        claims = msgspec.json.decode(payload, type=_Payload)
        if claims.caller != caller:
            raise InvalidTicketError
        if claims.expires_ms < time.time() * 1000:
            raise TicketExpiredError(lifetime_s=self.lifetime_s)
        return Ticket(
            request=decode_request(bytes(claims.request)),
            table_id=claims.table_id,
            part=claims.part,
            caller=claims.caller,
            expires_ms=claims.expires_ms,
        )

    def _sign(self, payload: bytes) -> bytes:
        return hmac.new(self._key, _MAGIC + payload, hashlib.sha256).digest()


def read_ticket_key(path: Path) -> bytes:
    """Read the key that several servers share from a file.

    Raises:
        InvalidArgumentError: it cannot be read, or is too short.
    """
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise InvalidArgumentError(argument="--ticket-key-file", reason=str(error)) from error
    if len(key) < _MIN_KEY:
        reason = f"it must have at least {_MIN_KEY} bytes; try: openssl rand -hex 32"
        raise InvalidArgumentError(argument="--ticket-key-file", reason=reason)
    return key
