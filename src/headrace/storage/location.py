"""Resolve table addresses and the file paths in a table's log.

A user's address or a path from the log enters; a local folder or an address to open leaves.
"""

import os
import re
from urllib.parse import unquote

from headrace.errors import InvalidArgumentError, UnsafePathError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://?")
_LOCAL = re.compile(r"(?i)file:(?://(?:localhost)?(?=/)|(?!//))(?P<path>/.*)", re.DOTALL)
_USER = re.compile(r"(?<=://)[^/]*@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def scheme_of(uri: str) -> str:
    """Return the scheme of an address in lower case; a plain path has the scheme `file`."""
    match = _SCHEME.match(uri)
    return match[1].lower() if match else "file"


def without_secrets(uri: str) -> str:
    """Return an address for an error, without its user, password and query."""
    return _USER.sub("…@", uri).partition("?")[0]


def local_root(uri: str) -> str:
    """Return the absolute folder that a plain path or a `file:` address names.

    Raises:
        InvalidArgumentError: the address is empty, does not name a folder of this machine, or
            names one whose path is not UTF-8 and so could not be written to output.
    """
    if _SCHEME.match(uri):
        local = _LOCAL.fullmatch(uri)
        if local is None:
            shown = without_secrets(uri)
            reason = (
                f"{shown!r} does not name a folder of this machine, such as file:///data/events"
            )
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
    """Return the path or address of a file named in the log of the table at `root`.

    A path in the log is a URI: it is percent-decoded exactly once.

    Raises:
        UnsafePathError: a relative path leaves the table's folder, or the path does not decode
            to UTF-8 or contains control characters.
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
        raise UnsafePathError(path=path, reason="it leads out of the table")
    return f"{root}/{decoded}"
