"""The compiled library, where there is one. Its functions run without the interpreter's lock."""

import ctypes
import os
from functools import cache
from pathlib import Path

_ABI = 1
"""As in kernels.h."""
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
        return found if found.headrace_abi() == _ABI else None
    except (OSError, AttributeError):
        return None
