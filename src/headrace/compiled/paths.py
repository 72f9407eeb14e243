"""Find the paths of a column that a bitmap of keys does not rule out.

A column of paths and a bitmap enter; the numbers of the candidate rows leave.
"""

from ctypes import c_int32, c_int64, c_void_p

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.library import function

_ARGUMENTS = (c_void_p, c_void_p, c_int64, c_void_p, c_int32, c_void_p)
_OFFSET_BYTES = 4


def paths_in_doubt(
    paths: pa.StringArray, bitmap: npt.NDArray[np.uint8], shift: int
) -> npt.NDArray[np.intp] | None:
    """Return the rows with paths that may be in the bitmap, in order; None to fall back.

    There must be no nulls. The bit of a hash in the bitmap is `hash >> shift`.
    """
    search = function("headrace_paths_in_doubt", *_ARGUMENTS)
    if search is None or paths.type != pa.string():
        return None
    _, offsets, data = paths.buffers()
    rows = np.empty(len(paths), dtype=np.int64)
    count = search(
        offsets.address + paths.offset * _OFFSET_BYTES,
        None if data is None else data.address,
        len(paths),
        bitmap.ctypes.data,
        shift,
        rows.ctypes.data,
    )
    return rows[:count].astype(np.intp, copy=False)
