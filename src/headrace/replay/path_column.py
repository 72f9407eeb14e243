"""A column of paths as bytes, processed without a Python object for each path.

An Arrow column enters; the lengths of its paths, and fixed-size bytes near their ends, leave.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WINDOW_START = 32
"""The distance of a path's window from its end, in bytes; most file names differ there."""
TAIL_BYTES = WINDOW_START + 2
"""The window plus two bytes, since an escape such as `%20` may start before the window."""
_ESCAPE = ord("%")
_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64}


class PathColumn:
    """The bytes of the paths of one Arrow array, which must be non-empty and without nulls."""

    def __init__(self, paths: Any) -> None:
        width = _OFFSETS[paths.type]  # any other type has other buffers
        _, offsets, self._data = paths.buffers()
        bounds = np.frombuffer(offsets, dtype=width)[paths.offset : paths.offset + len(paths) + 1]
        self._ends = bounds[1:]
        self.lengths: npt.NDArray[np.int64] = np.diff(bounds)

    def tails_escaped(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Return whether the tail of each path contains `%`; no path is shorter than a tail."""
        tails = self._gathered(self._ends[rows] - TAIL_BYTES, f"V{TAIL_BYTES}")
        bytes_of_each = tails.view(np.uint8).reshape(-1, TAIL_BYTES)
        is_escaped: npt.NDArray[np.bool_] = (bytes_of_each == _ESCAPE).any(axis=1)
        return is_escaped

    def windows(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
        """Return the windows of some paths, each as a little-endian 64-bit number."""
        return self._gathered(self._ends[rows] - WINDOW_START, "<u8")

    def _gathered(self, starts: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
        """Return the values of a type at each start."""
        dtype = np.dtype(kind)
        if not len(starts):
            return np.empty(0, dtype=dtype)
        positions = self._data.size - dtype.itemsize + 1
        at_every_byte: npt.NDArray[Any] = np.ndarray(
            (positions,), dtype=dtype, buffer=self._data, strides=(1,)
        )
        gathered: npt.NDArray[Any] = at_every_byte[starts]
        return gathered
