"""What an error of the operating system means to those who read from a store."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.errors import ObjectNotFoundError, StorageError, StoreFailedError

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
"""A disk or a network that may do better next time, unlike a permission or a folder."""


def storage_error(path: str, error: OSError) -> StorageError:
    """The typed error for what happened to an object."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ObjectNotFoundError(path=path)
    may_pass = error.errno in _MAY_PASS or isinstance(error, ConnectionError | TimeoutError)
    return StoreFailedError(path=path, reason=str(error), transient=may_pass)


@contextmanager
def storage_errors(path: str) -> Iterator[None]:
    """Turn errors of the operating system into typed ones."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error
