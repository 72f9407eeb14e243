"""Raises Python's recursion limit while a deeply nested query is parsed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMES = 20_000
"""A SQL parser needs about twenty nested calls per opening parenthesis."""


@contextmanager
def deep_nesting() -> Iterator[None]:
    """Let Python functions nest more deeply than by default.

    Calls from Python to Python do not use the machine stack, so memory is the only limit.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
