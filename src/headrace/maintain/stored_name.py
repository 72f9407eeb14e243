"""The names that a file of the log may have in its table's store.

Writers record a path as it is stored, or percent-encoded, or absolute. Deleting or dropping a file
because its path is spelled differently would lose it, so every spelling counts.
"""

from collections.abc import Iterator
from posixpath import normpath
from urllib.parse import unquote


def stored_names(path: str) -> Iterator[str]:
    """Yield the names, relative to the root of the store, that a recorded path may refer to.

    Where an absolute path lies relative to the table is unknown: a store may be reached by several
    addresses. So each of its endings may be the name.
    """
    yield from _relative(path)
    if "%" in path:
        yield from _relative(unquote(path, errors="surrogateescape"))


def is_absolute(path: str) -> bool:
    """Return whether a recorded path is not relative to its table."""
    return path.startswith("/") or ":/" in path


def _relative(path: str) -> Iterator[str]:
    if not is_absolute(path):
        yield normpath(path) if "//" in path or "./" in path else path
        return
    parts = [part for part in path.split("/") if part]
    yield from ("/".join(parts[start:]) for start in range(len(parts)))
