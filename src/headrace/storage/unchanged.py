"""Check that a file is still the one that was listed.

Log files are never rewritten. A file that differs from its listing belongs to another table, which
was created at the same location since.
"""

import os

from headrace.errors import ObjectChangedError
from headrace.protocol.log_file import LogFile
from headrace.storage.failure import storage_errors
from headrace.storage.store import Store


def check_unchanged(store: Store, file: LogFile) -> None:
    """Compare the size and modification time of a local file with those that were listed.

    A file that did not come from a listing has no modification time and is not compared.

    Raises:
        ObjectChangedError: the file was replaced by another one.
        ObjectNotFoundError: the file no longer exists.
    """
    local = store.local_path(file.path) if file.modified_ms else None
    if local is None:
        return
    with storage_errors(file.path):
        status = os.stat(local)  # noqa: PTH116  (a Path for every file of the log takes longer)
    if (status.st_size, status.st_mtime_ns // 1_000_000) != (file.size_bytes, file.modified_ms):
        raise ObjectChangedError(path=file.path)
