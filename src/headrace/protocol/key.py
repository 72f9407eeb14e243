"""The identity of a logical file, and the canonical form in which paths are compared.

A path in the log is a URI, relative to the table or absolute. Two spellings of one file
(`/x` and `file:///x`, `a%2Db` and `a-b`) must have the same key.
"""

from collections.abc import Iterable, Iterator, Sequence
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


def path_range(paths: Iterable[str]) -> tuple[str, str]:
    """Return bounds of some paths, both as written and in canonical form; valid Unicode."""
    spellings = [spelling for path in paths for spelling in _spellings(path)]
    return min(spellings), max(spellings)


def _spellings(path: str) -> Iterator[str]:
    yield path
    canonical = canonical_path(path) if "%" in path or path.startswith(_SCHEME) else path
    if canonical == path:
        return
    # Bytes that are not UTF-8 become surrogates, which no file can hold: enclose them.
    valid = canonical.encode(errors="surrogateescape").decode(errors="replace")
    if valid == canonical:
        yield canonical
        return
    is_surrogate = (_FIRST_SURROGATE <= letter <= _LAST_SURROGATE for letter in canonical)
    prefix = canonical[: list(is_surrogate).index(True)]
    yield prefix
    yield prefix + _LAST


_FIRST_SURROGATE, _LAST_SURROGATE, _LAST = "\ud800", "\udfff", "\U0010ffff"
