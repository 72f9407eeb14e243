"""Test maps of partition values by their dictionary codes in the pages of a row group.

Data pages and a verdict for each code enter; a mask of the maps that may match leaves.
"""

from ctypes import Structure, byref, c_int32, c_int64, c_void_p

import numpy as np
import numpy.typing as npt

from headrace.compiled.library import function

_ARGUMENTS = (c_void_p, c_int64, c_void_p)
_TABLE_BYTES = 1 << 16
_ROOM_BYTES = 1 << 20
"""Room for a page of codes: pages of paths have this size, and codes are much smaller."""


class _Maps(Structure):
    """The maps to test, as `headrace_maps` in kernels.h."""

    _fields_ = (
        ("values", c_int32),
        ("level", c_int32),
        ("texts", c_int64),
        ("verdicts", c_void_p),
        ("table", c_void_p),
        ("is_snappy", c_int32),
        ("room_size", c_int64),
        ("room", c_void_p),
        ("verdict_count", c_int64),
        ("may_match", c_void_p),
    )


def judge_maps(
    pages: bytes | memoryview,
    verdicts: npt.NDArray[np.uint8],
    *,
    maps: int,
    level: int,
    is_snappy: bool,
) -> npt.NDArray[np.bool_] | None:
    """Return whether each map may match; None if the caller must fall back.

    Args:
        pages: The data pages of the values of all maps.
        verdicts: For each value of a map and each code, 1 if the map may match.
        maps: The number of maps.
        level: The definition level of a value that is present.
        is_snappy: Whether the pages are compressed with Snappy; otherwise they are uncompressed.
    """
    judge = function("headrace_judge_maps", *_ARGUMENTS)
    if judge is None:
        return None
    verdicts = np.ascontiguousarray(verdicts)
    may_match = np.empty(maps, dtype=np.bool_)
    table, page_buffer = (np.empty(size, dtype=np.uint8) for size in (_TABLE_BYTES, _ROOM_BYTES))
    values, texts = verdicts.shape
    request = _Maps(
        *(values, level, texts, verdicts.ctypes.data, table.ctypes.data),
        *(is_snappy, _ROOM_BYTES, page_buffer.ctypes.data, maps, may_match.ctypes.data),
    )
    read = np.frombuffer(pages, dtype=np.uint8)
    return None if judge(read.ctypes.data, len(read), byref(request)) < 0 else may_match
