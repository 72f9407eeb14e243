"""Whether an object is still the one that was listed.

Files of a log are never written twice. One that differs from its listing belongs to another table,
which has been made at the same place since.
"""

import os

from headrace.errors import ObjectChangedError
from headrace.protocol.log_file import LogFile
from headrace.storage.failure import storage_errors
from headrace.storage.store import Store


def check_unchanged(store: Store, file: LogFile) -> None:
    """Compare size and time of a local file with those that were listed.

    Files that no listing has shown have no time, and are not compared.

    Raises:
        ObjectChangedError: another file has taken its place.
        ObjectNotFoundError: it is gone.
    """
    local = store.local_path(file.path) if file.modified_ms else None
    if local is None:
        return
    with storage_errors(file.path):
        status = os.stat(local)  # noqa: PTH116  (a Path for every file of the log takes longer)
    if (status.st_size, status.st_mtime_ns // 1_000_000) != (file.size_bytes, file.modified_ms):
        raise ObjectChangedError(path=file.path)
