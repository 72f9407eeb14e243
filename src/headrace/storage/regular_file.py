"""Opens local files, and refuses everything else that a path may name.

A path enters; an open file leaves. Reading a pipe would wait forever, and some devices never end,
so a table that contains one could block every thread that reads it.
"""

import errno
import os
import stat
from io import FileIO

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""A pipe that nobody writes to is opened, and so refused, without waiting."""


def open_regular(path: str) -> FileIO:
    """Open a file without a buffer.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    return FileIO(path, "rb", opener=_open)


def open_descriptor(path: str) -> int:
    """Open a file, and return its descriptor.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise _irregular(path, mode)


def check_regular(path: str) -> None:
    """Check a file that a library is going to open by its path.

    Raises:
        OSError: it does not exist, or is not a regular file.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116  (a Path for every file takes longer)
    if not stat.S_ISREG(mode):
        raise _irregular(path, mode)


def _open(path: str, flags: int) -> int:  # noqa: ARG001  (`open` passes them)
    return open_descriptor(path)


def _irregular(path: str, mode: int) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return OSError(errno.EINVAL, "Not a regular file", path)
