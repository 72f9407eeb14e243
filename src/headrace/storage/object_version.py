"""Tell the versions of an object apart by their ETags: not to be confused with those of a table.

An object may be replaced while its ranges are read. Each answer of a remote store names the
version that its bytes belong to; ranges of different versions are never returned together.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headrace.errors import ObjectChangedError
from headrace.storage.byte_range import Contents


class ObjectVersion(NamedTuple):
    """Ranges of one version of an object, and its ETag."""

    contents: Contents
    etag: str | None


def etag_of(meta: Any) -> str | None:
    """Return the ETag of an answer or a listing entry; a weak one does not identify the bytes."""
    etag = meta["e_tag"] or ""
    return None if etag.startswith("W/") else etag.strip('"') or None


def check_version(path: str, answered: Iterable[str | None], etag: str | None) -> str | None:
    """Return the ETag that all answers have; an answer without one is not compared.

    Raises:
        ObjectChangedError: they are of several versions, or of another one than `etag`.
    """
    versions = {*answered, etag} - {None}
    if len(versions) > 1:
        raise ObjectChangedError(path=path)
    return next(iter(versions), None)
