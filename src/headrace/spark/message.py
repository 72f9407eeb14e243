"""Shows errors to Spark's users as messages, without the traceback of a worker.

Spark shows what its Python process prints about an error. A typed error says what is wrong and
what to do, and a traceback would only hide it. Spark omits tracebacks if an environment variable
of the process says so; the process ends after an error, so nothing else is affected.
"""

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from headrace.errors import HeadraceError

P = ParamSpec("P")
R = TypeVar("R")

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
_WORKER_VARIABLES = ("PYTHON_WORKER_FACTORY_", "PYTHON_UNIX_DOMAIN_")
"""Prefixes of variables that Spark sets only in its Python processes."""


def message_first(method: Callable[P, R]) -> Callable[P, R]:
    """Show the errors of a method that Spark calls as messages."""

    @functools.wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except HeadraceError:
            _hide_traceback()
            raise

    return wrapper


def messages_first(method: Callable[P, Iterator[Any]]) -> Callable[P, Iterator[Any]]:
    """Show the errors of a generator method that Spark calls as messages."""

    @functools.wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Iterator[Any]:
        try:
            yield from method(*args, **kwargs)
        except HeadraceError:
            _hide_traceback()
            raise

    return wrapper


def _hide_traceback() -> None:
    if any(name.startswith(_WORKER_VARIABLES) for name in os.environ):
        os.environ[_HIDE_TRACEBACK] = "1"
