"""Errors that reach Spark's users as their message, without the traceback of a worker before it.

Spark shows what its Python process prints of an error as the message of its own. A typed error says
what is wrong and what to do, so that a traceback would only hide it. Spark leaves tracebacks out if
a variable of the process says so; the process ends after an error, so nothing else is affected.
"""

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from headrace.errors import HeadraceError

P = ParamSpec("P")
R = TypeVar("R")

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
_OF_A_WORKER = ("PYTHON_WORKER_FACTORY_", "PYTHON_UNIX_DOMAIN_")
"""How the variables begin that Spark sets for its Python processes alone."""


def message_first(method: Callable[P, R]) -> Callable[P, R]:
    """Let Spark show the errors of a method that it calls by their message."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except HeadraceError:
            _hide_traceback()
            raise

    return called


def messages_first(method: Callable[P, Iterator[Any]]) -> Callable[P, Iterator[Any]]:
    """The same for a method that gives items by and by."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> Iterator[Any]:
        try:
            yield from method(*args, **kwargs)
        except HeadraceError:
            _hide_traceback()
            raise

    return called


def _hide_traceback() -> None:
    if any(name.startswith(_OF_A_WORKER) for name in os.environ):
        os.environ[_HIDE_TRACEBACK] = "1"
