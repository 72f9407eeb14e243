"""Files known only by their keys, as input for a seen set."""

from collections.abc import Iterable

from headrace.protocol.action import DeletionVector, Remove
from headrace.protocol.key import FileKey


def files_of(keys: Iterable[FileKey]) -> list[Remove]:
    """Return a file for each key."""
    return list(map(_file, keys))


def _file(key: FileKey) -> Remove:
    vector = None
    if key.dv_id is not None:
        vector = DeletionVector(
            storage_type=key.dv_id, path_or_inline_dv="", size_in_bytes=1, cardinality=1
        )
    return Remove(path=key.path.replace("%", "%25"), deletion_vector=vector)
