"""Check that a file is still the one that was listed.

Log files are never rewritten. A file that differs from its listing belongs to another table, which
was created at the same location since.
"""

from headrace.errors import ObjectChangedError
from headrace.protocol.log_file import LogFile
from headrace.storage.failure import storage_errors
from headrace.storage.local_file import find_local_file
from headrace.storage.store import Store


def check_unchanged(store: Store, file: LogFile) -> None:
    """Compare the size and modification time of a local file with those that were listed.

    A file that did not come from a listing has no modification time and is not compared.

    Raises:
        ObjectChangedError: the file was replaced by another one.
        ObjectNotFoundError: the file no longer exists.
    """
    local = find_local_file(store, file.path) if file.modified_ms else None
    if local is None:
        return
    with storage_errors(file.path):
        actual = local.size_and_time()
    if actual != (file.size_bytes, file.modified_ms):
        raise ObjectChangedError(path=file.path)
