"""The compiled library, where there is one. Its functions run without the interpreter's lock."""

import ctypes
import os
from functools import cache
from pathlib import Path

_ABI = 1
"""As in kernels.h."""
_FUNCTIONS = ("headrace_leaves",)
"""What a library of this version has, unless it was built before they were added."""
_FILE = Path(__file__).with_name("kernels.so")
SWITCH = "HEADRACE_COMPILED"
"""A variable of the environment: 0 leaves the library out."""


@cache
def library() -> ctypes.CDLL | None:
    """The library; None where it was not built, is of another version, or is not wanted."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        found = ctypes.CDLL(str(_FILE))
        whole = all(hasattr(found, name) for name in _FUNCTIONS)
        return found if whole and found.headrace_abi() == _ABI else None
    except (OSError, AttributeError):
        return None
