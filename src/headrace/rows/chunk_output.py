"""Allocates the buffers that a compiled loop fills, and turns them into Arrow arrays.

A layout and a number of rows enter; an array leaves for each batch.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.columns import Batch
from headrace.protocol import light
from headrace.rows.chunk_layout import ChunkLayout

Rows = npt.NDArray[np.uint32]
"""Indices of rows in a batch, ascending."""
Flags = npt.NDArray[np.uint8]

COPY_STEP_BYTES = 32
"""As COPY_STEP in columns.h: short texts are copied in steps of this size."""
_SPARE = 1.1
"""Spare room for rows that are longer than average."""
_MAX_EXPECTED_BYTES = 1 << 26
"""The limit for the first allocation, as footers can lie; the buffer grows on demand."""
_MIN_MEASURED_ROWS = 1000
_MAX_OFFSET = 2**31 - 1
_CODE_BYTES = _OFFSET_BYTES = 4


class UnusualChunkError(ValueError):
    """The chunk is damaged, or uses an encoding that the compiled loop does not know."""


class ChunkOutput:
    """An Arrow array that is being filled."""

    def __init__(  # noqa: PLR0913  (each is named)
        self,
        rows: int,
        layout: ChunkLayout,
        *,
        valid: Flags,
        row_bytes: float = 0.0,
        chosen: Rows | None = None,
        as_codes: bool = False,
    ) -> None:
        """Allocate the buffers.

        Args:
            rows: How many rows the loop advances.
            layout: How the values are stored.
            valid: A validity byte per row; reusable once the array is built.
            row_bytes: The average size of a byte array.
            chosen: The rows to write; None for all.
            as_codes: Write dictionary codes instead of values.
        """
        self._layout = layout
        self._chosen = chosen  # keeps the memory alive
        self._valid = valid
        self._offsets: pa.Buffer | None = None
        count = rows if chosen is None else len(chosen)
        if as_codes:
            size = count * _CODE_BYTES
        elif layout.width:
            size = count * layout.width
        else:
            self._offsets = pa.allocate_buffer((count + 1) * _OFFSET_BYTES)
            np.frombuffer(self._offsets, np.int32, 1)[0] = 0
            expected = int(count * row_bytes * _SPARE) + COPY_STEP_BYTES
            size = min(expected, _MAX_EXPECTED_BYTES)
        self._out = pa.allocate_buffer(size, resizable=True)
        self.state = Batch(
            rows=rows,
            chosen=None if chosen is None else chosen.ctypes.data,
            chosen_count=count,
            as_codes=as_codes,
            room=count,
            valid=valid.ctypes.data,
            offsets=None if self._offsets is None else self._offsets.address,
            out=self._out.address,
            capacity=size,
        )

    def grow(self, size_bytes: int) -> None:
        """Grow the buffer of byte arrays to at least `size_bytes`."""
        if size_bytes > _MAX_OFFSET:
            raise UnusualChunkError("the byte arrays exceed the limit of an Arrow array")
        capacity = min(max(size_bytes, 2 * self._out.size), _MAX_OFFSET)
        self._out.resize(capacity)
        self.state.out, self.state.capacity = self._out.address, capacity

    @property
    def row_bytes(self) -> float:
        """The average size of the byte arrays written, or 0.0 after few rows."""
        written: int = self.state.written
        if self._offsets is None or written < _MIN_MEASURED_ROWS:
            return 0.0
        used = int(np.frombuffer(self._offsets, np.int32, written + 1)[written])
        return used / written

    def array(self) -> pa.Array:
        """Return the values written."""
        count, valid = self.state.written, self._validity()
        if self._offsets is None:
            used = count * self._layout.width
            buffers = [valid, self._out]
        else:
            used = int(np.frombuffer(self._offsets, np.int32, count + 1)[count])
            buffers = [valid, self._offsets, self._out]
        self._out.resize(used, shrink_to_fit=2 * used < self._out.size)
        return pa.Array.from_buffers(self._layout.type, count, buffers, self.state.nulls)

    def codes(self, words: pa.Array | None) -> pa.DictionaryArray:
        """Return the dictionary codes written."""
        count = self.state.written
        buffers = [self._validity(), self._out]
        codes = pa.Array.from_buffers(pa.int32(), count, buffers, self.state.nulls)
        if words is None:
            words = light.array([], self._layout.type)
        return pa.DictionaryArray.from_arrays(codes, words, safe=False)

    def _validity(self) -> pa.Buffer | None:
        if not self.state.nulls:
            return None
        bits = np.packbits(self._valid[: self.state.written], bitorder="little")
        return pa.py_buffer(bits)
