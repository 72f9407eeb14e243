"""Addresses: what a user calls a table, and where a path of its log leads."""

import os
import re
from urllib.parse import unquote

from headrace.errors import InvalidArgumentError, UnsafePathError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://?")
_LOCAL = re.compile(r"(?i)file:(?://(?:localhost)?(?=/)|(?!//))(?P<path>/.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def scheme_of(uri: str) -> str:
    """The scheme of an address; a plain path is a file."""
    match = _SCHEME.match(uri)
    return match[1].lower() if match else "file"


def local_root(uri: str) -> str:
    """The folder that a plain path or a `file:` address names.

    Raises:
        InvalidArgumentError: the address names nothing, or no folder of this machine, or one
            whose name is not UTF-8: what is told of its files could not be written.
    """
    if _SCHEME.match(uri):
        local = _LOCAL.fullmatch(uri)
        if local is None:
            reason = f"{uri!r} does not name a folder of this machine, such as file:///data/events"
            raise InvalidArgumentError(argument="uri", reason=reason)
        uri = unquote(local["path"])
    if not uri or "\0" in uri:
        reason = f"{uri!r} does not name a folder; write . for the one that you are in"
        raise InvalidArgumentError(argument="uri", reason=reason)
    root = os.path.abspath(os.path.expanduser(uri))  # noqa: PTH100, PTH111 (text in, text out)
    try:
        root.encode()
    except UnicodeEncodeError as error:
        reason = f"{root!r} is not UTF-8; rename the folder, or reach it by a link that is"
        raise InvalidArgumentError(argument="uri", reason=reason) from error
    return root


def resolve(root: str, path: str) -> str:
    """Where one opens a file that the log of the table at `root` names.

    A path of the log is a URI: it is percent-decoded exactly once.

    Raises:
        UnsafePathError: a relative path climbs out of the table, or the path is not text that a
            writer would have made.
    """
    try:
        decoded = unquote(path, errors="strict") if "%" in path else path
    except UnicodeDecodeError as error:
        raise UnsafePathError(path=path, reason="it does not decode to UTF-8") from error
    if _CONTROL.search(decoded):
        raise UnsafePathError(path=path, reason="it holds control characters")
    if decoded.startswith("file:/"):
        return "/" + decoded[len("file:") :].lstrip("/")
    if decoded.startswith("/") or _SCHEME.match(decoded):
        return decoded
    if ".." in decoded.split("/"):
        raise UnsafePathError(path=path, reason="it climbs out of the table")
    return f"{root}/{decoded}"
