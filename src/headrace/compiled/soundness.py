"""Check by a compiled loop that the metadata of column chunks agree with the schema of a footer.

The bytes of a footer enter; whether all is well leaves.
"""

from collections.abc import Callable
from ctypes import c_char_p, c_int64

from headrace.compiled.library import function


def soundness_check() -> Callable[[bytes, int], int] | None:
    """Return the loop that checks a footer; it returns 0 if Arrow must not decode it."""
    return function("headrace_is_sound", c_char_p, c_int64)
