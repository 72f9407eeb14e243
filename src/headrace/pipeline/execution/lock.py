"""One run of a project at a time. The lock goes with its process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import InvalidProjectError, RunInProgressError
from headrace.pipeline.project.manifest import MANIFEST


@contextmanager
def run_lock(folder: Path, *, project: str) -> Iterator[None]:
    """Hold the lock of a project's state folder.

    Raises:
        RunInProgressError: another process holds it.
        InvalidProjectError: there is no such folder, and none can be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProjectError(file=MANIFEST, key="project.state", reason=str(error)) from error
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            raise RunInProgressError(project=project, holder=holder) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()}")
        lock.flush()
        yield


def is_locked(folder: Path) -> bool:
    """Whether a run is going on."""
    file = folder / "lock"
    if not file.exists():
        return False
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
