"""A column of paths as bytes: looked at as a whole, with no Python object for any path."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WINDOW_START = 40
_WINDOW_BYTES = 16
TAIL_BYTES = WINDOW_START + 2
"""An escape such as `%20` may reach two bytes into the window: then it must be looked at too."""
_ESCAPE = ord("%")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def window_hashes(windows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """A hash of each window."""
    words = windows.view("<u8")
    mixed: npt.NDArray[np.uint64] = words[:, 0] * _MULTIPLIER
    mixed ^= words[:, 1]
    mixed *= _MULTIPLIER
    return mixed


class PathColumn:
    """The bytes of the paths of one Arrow array, which must have some and no nulls."""

    def __init__(self, paths: Any) -> None:
        _, offsets, self._data = paths.buffers()
        width = np.int64 if pa.types.is_large_string(paths.type) else np.int32
        bounds = np.frombuffer(offsets, dtype=width)[paths.offset : paths.offset + len(paths) + 1]
        self._ends = bounds[1:]
        self._span = int(bounds[0]), int(bounds[-1])
        self.lengths: npt.NDArray[np.int64] = np.diff(bounds)

    def has_escapes(self) -> bool:
        """Whether there is a percent sign in any of the paths."""
        start, stop = self._span
        return stop > start and _ESCAPE in self._data.slice(start, stop - start).to_pybytes()

    def tails_escaped(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Whether the last bytes of some paths, none shorter than those, hold a percent sign."""
        tails = self._pieces(self._ends[rows] - TAIL_BYTES, TAIL_BYTES)
        found: npt.NDArray[np.bool_] = (tails == _ESCAPE).any(axis=1)
        return found

    def windows(self, rows: npt.NDArray[np.intp] | slice) -> npt.NDArray[np.uint8]:
        """The sixteen bytes that start forty bytes before the end of some paths, a row each."""
        return self._pieces(self._ends[rows] - WINDOW_START, _WINDOW_BYTES)

    def _pieces(self, starts: npt.NDArray[Any], size: int) -> npt.NDArray[np.uint8]:
        """As many bytes from each start, a row each."""
        if not len(starts):
            return np.empty((0, size), dtype=np.uint8)
        every: npt.NDArray[Any] = np.ndarray(
            (self._data.size - size + 1,), dtype=f"V{size}", buffer=self._data, strides=(1,)
        )
        pieces: npt.NDArray[np.uint8] = every[starts].view(np.uint8).reshape(-1, size)
        return pieces
