"""Locates the files that deletion vectors are stored in; data files cannot be read without them."""

from pathlib import Path

from headrace.protocol.action import DeletionVector
from headrace.protocol.deletion_vector import is_inline, relative_path
from headrace.storage.location import local_root, resolve


def vector_place(root: str, vector: DeletionVector | None) -> Path | None:
    """Return the local file of a vector; None if there is none, or it is inline in the log.

    Raises:
        CorruptDeletionVectorError: its name cannot be decoded.
        UnsafePathError: it is outside the table.
    """
    if vector is None or is_inline(vector):
        return None
    base = local_root(root)
    path = relative_path(vector)
    return Path(base) / path if path is not None else Path(resolve(base, vector.path_or_inline_dv))
