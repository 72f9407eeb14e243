"""A column of paths as bytes: looked at as a whole, with no Python object for any path."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WINDOW_START = 32
"""How far before the end of a path its window starts: there, most file names differ."""
TAIL_BYTES = WINDOW_START + 2
"""An escape such as `%20` may reach two bytes into the window: then it must be looked at too."""
_ESCAPE = ord("%")
_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64}


class PathColumn:
    """The bytes of the paths of one Arrow array, which must have some and no nulls."""

    def __init__(self, paths: Any) -> None:
        width = _OFFSETS[paths.type]  # any other type has other buffers
        _, offsets, self._data = paths.buffers()
        bounds = np.frombuffer(offsets, dtype=width)[paths.offset : paths.offset + len(paths) + 1]
        self._ends = bounds[1:]
        self.lengths: npt.NDArray[np.int64] = np.diff(bounds)

    def tails_escaped(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Whether the last bytes of some paths, none shorter than those, hold a percent sign."""
        tails = self._pieces(self._ends[rows] - TAIL_BYTES, f"V{TAIL_BYTES}")
        bytes_of_each = tails.view(np.uint8).reshape(-1, TAIL_BYTES)
        found: npt.NDArray[np.bool_] = (bytes_of_each == _ESCAPE).any(axis=1)
        return found

    def windows(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
        """The windows of some paths: eight bytes each, as one number, the first byte lowest."""
        return self._pieces(self._ends[rows] - WINDOW_START, "<u8")

    def _pieces(self, starts: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
        """What lies at each start."""
        kind_of_all = np.dtype(kind)
        if not len(starts):
            return np.empty(0, dtype=kind_of_all)
        places = self._data.size - kind_of_all.itemsize + 1
        every: npt.NDArray[Any] = np.ndarray(
            (places,), dtype=kind_of_all, buffer=self._data, strides=(1,)
        )
        found: npt.NDArray[Any] = every[starts]
        return found
