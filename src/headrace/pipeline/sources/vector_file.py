"""Locates the files that deletion vectors are stored in; data files cannot be read without them."""

from pathlib import Path

from headrace.protocol.action import DeletionVector
from headrace.protocol.deletion_vector import is_inline, relative_path
from headrace.storage.location import local_root, resolve


def vector_uri(root: str, vector: DeletionVector | None) -> str | None:
    """Return the address of a vector's file; None if there is none, or it is inline in the log.

    Raises:
        CorruptDeletionVectorError: its name cannot be decoded.
        UnsafePathError: it is outside the table.
    """
    if vector is None or is_inline(vector):
        return None
    path = relative_path(vector)
    return f"{root}/{path}" if path is not None else resolve(root, vector.path_or_inline_dv)


def local_vector_file(root: str, vector: DeletionVector | None) -> Path | None:
    """Return the local file of a vector; None if there is none, or it is inline in the log.

    Raises:
        CorruptDeletionVectorError, UnsafePathError: as for `vector_uri`.
    """
    uri = vector_uri(local_root(root), vector)
    return None if uri is None else Path(uri)
