"""The identity of a logical file, and the canonical form in which paths are compared.

A path in the log is a URI, relative to the table or absolute. Two spellings of one file
(`/x` and `file:///x`, `a%2Db` and `a-b`) must have the same key.
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
    """Return the key by which replay identifies the file."""
    vector = action.deletion_vector
    return FileKey(canonical_path(action.path), None if vector is None else vector.unique_id)


def keys_of(actions: Sequence[Add | Remove]) -> list[FileKey]:
    """Return the keys of many files; fast for a plain path without a vector, the usual case."""
    return [
        FileKey(path)
        if "%" not in (path := action.path) and ":" not in path and action.deletion_vector is None
        else key_of(action)
        for action in actions
    ]


def canonical_path(path: str) -> str:
    """Return the canonical form of a path: percent-decoded, local files without a scheme."""
    if "%" in path:
        path = unquote(path, errors="surrogateescape")
    if path.startswith(_SCHEME):
        return "/" + path[len(_SCHEME) :].lstrip("/")
    return path
