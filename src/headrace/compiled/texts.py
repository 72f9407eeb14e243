"""Texts of Parquet pages, appended to an Arrow column."""

from ctypes import byref, c_int64, c_void_p
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.library import function
from headrace.compiled.memory import Block, Memory

_MOST_BYTES = 2**31 - 1
"""What the offsets of a column reach."""
_FEWEST_BYTES = 1 << 10
_OFFSET_BYTES = 4
_TAIL = (c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64)
"""What both functions take: at, present, rows, offsets, out, capacity."""
_ARGUMENTS = {
    "headrace_plain_texts": (c_void_p, c_int64, *_TAIL),
    "headrace_coded_texts": (c_void_p, c_void_p, c_void_p, c_int64, *_TAIL),
}

Present: TypeAlias = npt.NDArray[np.bool_] | None
"""Which rows are not null; None: all of them."""


class PageTexts:
    """The texts of a page, which are taken in order."""

    def __init__(self, kernel: str, *source: Any, present: Present) -> None:
        """Name the function that knows such pages, and what tells it about this one."""
        self._fill: Any = function(kernel, *_ARGUMENTS[kernel])
        self._kept = source  # its memory, as long as its addresses
        self._source = tuple(_address(part) for part in source)
        self._present = present
        self._row = 0
        self._at = c_int64(0)

    @classmethod
    def plain(cls, values: memoryview, present: Present) -> "PageTexts":
        """Texts one after the other, each behind its length."""
        page = np.frombuffer(values, dtype=np.uint8)
        return cls("headrace_plain_texts", page, len(page), present=present)

    @classmethod
    def coded(
        cls, codes: npt.NDArray[np.uint16], words: pa.StringArray, present: Present
    ) -> "PageTexts":
        """Codes of words, as many as rows that are not null."""
        _, offsets, data = words.buffers()
        return cls("headrace_coded_texts", codes, offsets, data, len(words), present=present)

    def append_to(self, offsets: int, out: Block, rows: int) -> int:
        """Append the next texts, at most so many; how many there was room for.

        Raises:
            ValueError: the page is damaged.
        """
        present = None if self._present is None else self._present.ctypes.data + self._row
        capacity = min(len(out), _MOST_BYTES)
        done: int = self._fill(
            *self._source, byref(self._at), present, rows, offsets, out.address, capacity
        )
        if done < 0:
            raise ValueError("a text reaches beyond its page, or a code beyond the words")
        self._row += done
        return done


class TextBuilder:
    """A column of texts in the making."""

    def __init__(self, rows: int, *, expected_bytes: int, memory: Memory) -> None:
        """Make room for so many rows; more bytes than expected cost a copy."""
        self._filled = 0
        self._memory = memory
        self._offsets = memory.block((rows + 1) * _OFFSET_BYTES)
        self._ends = self._offsets.bytes[: (rows + 1) * _OFFSET_BYTES].view(np.int32)
        self._ends[0] = 0
        self._bytes = memory.block(max(expected_bytes, _FEWEST_BYTES))

    @property
    def _used(self) -> int:
        return int(self._ends[self._filled])

    def append(self, texts: PageTexts, rows: int) -> None:
        """Take the texts of the next rows.

        Raises:
            ValueError: their page is damaged, or they are more than a column can hold.
        """
        while True:
            at = self._offsets.address + self._filled * _OFFSET_BYTES
            done = texts.append_to(at, self._bytes, rows)
            self._filled += done
            rows -= done
            if not rows:
                return
            self._grow()

    def _grow(self) -> None:
        if len(self._bytes) >= _MOST_BYTES:
            raise ValueError("the texts are more than a column can hold")
        larger = self._memory.block(2 * len(self._bytes))
        larger.bytes[: self._used] = self._bytes.bytes[: self._used]
        self._bytes = larger

    def finish(self, present: Present) -> pa.StringArray:
        """The column, null where rows are not present."""
        valid = None if present is None else pa.array(present).buffers()[1]
        offsets = self._offsets.buffer((self._filled + 1) * _OFFSET_BYTES)
        return pa.StringArray.from_buffers(
            self._filled, offsets, self._bytes.buffer(self._used), valid
        )


def _address(part: Any) -> Any:
    """Where memory begins; anything else as it is."""
    if isinstance(part, np.ndarray):
        return part.ctypes.data
    return part.address if isinstance(part, pa.Buffer) else part
