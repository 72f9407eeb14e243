"""Authenticates callers by bearer token, compared in constant time and never shown.

The lines of a token file enter, each `name:token`; the name of the caller leaves.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import InvalidArgumentError, UnauthenticatedError

ANONYMOUS = "anonymous"
MIN_TOKEN = 16

_LINE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.\-]*):(?P<token>[\x21-\x7e]+)")


class Tokens:
    """The tokens of the known callers; without any, every caller is anonymous."""

    def __init__(self, tokens: Mapping[str, str] | None = None) -> None:
        """Take tokens by caller name; only their digests are kept."""
        self._digests = {name: _digest(token) for name, token in (tokens or {}).items()}

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """Read a token file; empty lines and lines that begin with # are ignored.

        Raises:
            InvalidArgumentError: it cannot be read, or a line is not `name:token`.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(argument="--token-file", reason=str(error)) from error
        tokens: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None or len(match["token"]) < MIN_TOKEN:
                reason = f"line {number} is not name:token with at least {MIN_TOKEN} characters"
                raise InvalidArgumentError(argument="--token-file", reason=reason)
            if match["name"] in tokens:
                reason = f"line {number} repeats the name {match['name']}"
                raise InvalidArgumentError(argument="--token-file", reason=reason)
            tokens[match["name"]] = match["token"]
        if not tokens:
            raise InvalidArgumentError(argument="--token-file", reason="it contains no token")
        return cls(tokens)

    def identify(self, authorization: str | None) -> str:
        """Return the caller whose token an `authorization` header carries.

        Raises:
            UnauthenticatedError: it carries no known token.
        """
        if not self._digests:
            return ANONYMOUS
        scheme, _, token = (authorization or "").partition(" ")
        digest, caller = _digest(token.strip()), None
        for name, known in self._digests.items():  # all of them, for constant time
            if hmac.compare_digest(digest, known):
                caller = name
        if caller is None or scheme.lower() != "bearer":
            raise UnauthenticatedError
        return caller


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
