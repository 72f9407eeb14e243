"""One run of a project at a time.

On this machine the lock is a file lock, which the operating system releases when the process ends.
In a store it is a lease that expires: see `headrace.commit.lease`.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import Protocol

from headrace.commit.lease import DEFAULT_TTL_MS, Occupied, acquire_lease, is_held
from headrace.errors import InvalidProjectError, RunInProgressError
from headrace.pipeline.place import Place
from headrace.pipeline.project.manifest import MANIFEST


class RunLock(Protocol):
    """The right to run a project, as long as it is held."""

    @property
    def token(self) -> int | None:
        """The fencing token; None if the lock cannot be lost."""

    @property
    def is_taken_over(self) -> bool:
        """Whether the previous holder did not release it, and may still be running."""

    def check(self) -> None:
        """Make sure that the lock is still held.

        Raises:
            LeaseLostError: another process holds it.
        """


class FileLock:
    """A lock of the operating system: held until the process ends."""

    token = None
    is_taken_over = False

    def check(self) -> None:
        """Do nothing: the lock cannot be lost."""


@contextmanager
def run_lock(
    folder: Place | PathLike[str], *, project: str, lease_ms: int = DEFAULT_TTL_MS
) -> Iterator[RunLock]:
    """Hold the lock of a project's state folder.

    Args:
        folder: The state folder.
        project: The name of the project, for errors.
        lease_ms: After how long without renewal a lease in a store expires.

    Raises:
        RunInProgressError: another process holds it.
        InvalidProjectError: there is no such folder, and it cannot be created.
        StorageError: the store failed.
    """
    folder = Place.of(folder)
    if folder.is_local:
        with _file_lock(folder.path, project=project) as lock:
            yield lock
        return
    lease = acquire_lease(folder.open(), ttl_ms=lease_ms)
    if isinstance(lease, Occupied):
        holder = f"{lease.holder} (its lease ends in {lease.remaining_ms / 1000:.0f} s)"
        raise RunInProgressError(project=project, holder=holder)
    with closing(lease):
        yield lease


@contextmanager
def _file_lock(folder: Path, *, project: str) -> Iterator[FileLock]:
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
        yield FileLock()


def is_locked(folder: Place) -> bool:
    """Return whether a run is in progress; a lease in a store is judged by the local clock."""
    if not folder.is_local:
        return is_held(folder.open())
    file = folder.path / "lock"
    if not file.exists():
        return False
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
