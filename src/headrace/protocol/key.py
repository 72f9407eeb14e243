"""The identity of a logical file, and the one form in which two paths are compared.

A path in the log is a URI, relative to the table or absolute. Two spellings of one file
(`/x` and `file:///x`, `a%2Db` and `a-b`) must give one key.
"""

from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from headrace.protocol.action import Add, Remove

_SCHEME = "file:/"


class FileKey(msgspec.Struct, frozen=True, gc=False):
    """A file of the table: the same path with another deletion vector is another file."""

    path: str
    dv_id: str | None = None


def key_of(action: Add | Remove) -> FileKey:
    """The key under which replay knows this file."""
    vector = action.deletion_vector
    return FileKey(canonical_path(action.path), None if vector is None else vector.unique_id)


def keys_of(actions: Sequence[Add | Remove]) -> list[FileKey]:
    """The keys of many files; nearly all have a plain path and no vector, which costs little."""
    return [
        FileKey(path)
        if "%" not in (path := action.path) and ":" not in path and action.deletion_vector is None
        else key_of(action)
        for action in actions
    ]


def canonical_path(path: str) -> str:
    """The form in which paths are compared: decoded, local files without a scheme."""
    if "%" in path:
        path = unquote(path, errors="surrogateescape")
    if path.startswith(_SCHEME):
        return "/" + path[len(_SCHEME) :].lstrip("/")
    return path
