"""Load the compiled library, if there is one. Its functions run without the GIL.

The name and types of a function enter; a callable leaves, or None without the library.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_ABI = 10
"""The ABI version, as in kernels.h."""
_FUNCTIONS = (
    "headrace_crc32",
    "headrace_leaves",
    "headrace_texts",
    "headrace_take_column",
    "headrace_dictionary",
    "headrace_set_bits",
    "headrace_read_footer",
    "headrace_is_sound",
    "headrace_append_file",
    "headrace_kept_texts",
    "headrace_words",
    "headrace_paths_in_doubt",
    "headrace_judge_maps",
    "headrace_avro",
)
_FILE = Path(__file__).with_name("kernels.so")
SWITCH = "HEADRACE_COMPILED"
"""An environment variable; 0 disables the library."""


def is_built() -> bool:
    """Whether the library is available."""
    return _library() is not None


@cache
def function(name: str, *arguments: Any) -> Callable[..., int] | None:
    """Return a library function with these argument types; None if the library is unavailable.

    It is unavailable if it was not built, has another ABI version, or is disabled. It reads numbers
    from Parquet pages as stored, so the machine must be little-endian.
    """
    library = _library()
    if library is None:
        return None
    declared = getattr(library, name)
    declared.argtypes, declared.restype = arguments, ctypes.c_int64
    typed: Callable[..., int] = declared
    return typed


@cache
def _library() -> ctypes.CDLL | None:
    if os.environ.get(SWITCH) == "0" or sys.byteorder != "little":
        return None
    try:
        library = ctypes.CDLL(str(_FILE))
        is_whole = all(hasattr(library, name) for name in _FUNCTIONS)
        return library if is_whole and library.headrace_abi() == _ABI else None
    except (OSError, AttributeError):
        return None
