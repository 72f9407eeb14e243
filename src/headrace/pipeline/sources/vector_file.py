"""The files that deletion vectors are kept in: as needed as the data files they belong to."""

from pathlib import Path

from headrace.protocol.action import DeletionVector
from headrace.protocol.deletion_vector import is_inline, relative_path
from headrace.storage.location import local_root, resolve


def vector_place(root: str, vector: DeletionVector | None) -> Path | None:
    """The local file of a vector; None if there is no vector, or the log itself holds it.

    Raises:
        CorruptDeletionVectorError: its name cannot be decoded.
        UnsafePathError: it leads out of the table.
    """
    if vector is None or is_inline(vector):
        return None
    base = local_root(root)
    path = relative_path(vector)
    return Path(base) / path if path is not None else Path(resolve(base, vector.path_or_inline_dv))
