"""Translate operating system errors into typed storage errors."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import (
    ObjectNotFoundError,
    StorageError,
    StoreFailedError,
    StoreFullError,
)

_MAY_PASS = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EHOSTUNREACH,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENETDOWN,
        errno.ENETRESET,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.EPIPE,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Transient disk and network errors, which a retry may resolve."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def storage_error(path: str, error: OSError) -> StorageError:
    """Return the typed error for an `OSError` on an object."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ObjectNotFoundError(path=path)
    if error.errno in _NO_ROOM:
        return StoreFullError(path=path, reason=str(error))
    may_pass = error.errno in _MAY_PASS or isinstance(error, ConnectionError | TimeoutError)
    return StoreFailedError(path=path, reason=str(error), transient=may_pass)


@contextmanager
def storage_errors(path: str) -> Iterator[None]:
    """Convert operating system errors inside the context into typed ones."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error
