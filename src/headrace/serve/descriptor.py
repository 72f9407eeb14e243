"""Keeps a server usable when it has many connections, each of which takes a file descriptor.

The limit of the process is raised. Connections that cannot be accepted for lack of descriptors are
reported now and then, while asyncio would log each attempt.
"""

import asyncio
import errno
import logging
import resource
import time
from typing import Any

_logger = logging.getLogger("headrace.serve")
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_ENOUGH = 65_536
"""Some programs take long to start children if the limit is very high."""
_REPORT_S = 10.0


def raise_limit() -> None:
    """Raise the soft limit of open files, by default often 1,024, as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError) as error:  # macOS allows less than its hard limit
        _logger.warning("the limit of open files stays as it is: %s", error)


class AcceptErrors:
    """A handler for the exceptions of an event loop, with a rate limit on failed accepts."""

    def __init__(self) -> None:
        self._report_at = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an exception that no task has handled."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + _REPORT_S
            _logger.error("HTTP connections cannot be accepted: %s", error.strerror)
