"""Room for queries that are nested deeply."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMES = 20_000
"""A parser of SQL takes some twenty calls for each bracket that is opened."""


@contextmanager
def deep_nesting() -> Iterator[None]:
    """Let Python functions call each other more deeply than by default.

    Calls from Python to Python take no stack of the machine's, so there is nothing to run out of
    but memory.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
