"""Memory for columns, which is used again when nobody looks at them any more.

Fresh memory is cleared page by page when it is first written to. For columns of some megabytes
that takes as long as to fill them.
"""

import mmap
from collections import deque
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SMALL_BYTES = 1 << 17
"""Less is not worth keeping."""
_GRAIN_BYTES = 1 << 19
"""Sizes are rounded up: what is asked for hardly ever is the same twice."""
_MOST_FREE = 32
_LARGEST_WASTE = 2
"""A block may be so many times larger than what is asked for."""


class Block:
    """Some memory. It is free again when this object and the buffers made of it are gone."""

    __slots__ = ("_home", "bytes")

    def __init__(self, memory: npt.NDArray[np.uint8], home: "Memory | None") -> None:
        self.bytes = memory
        self._home = home

    def __len__(self) -> int:
        return len(self.bytes)

    def __del__(self) -> None:
        if self._home is not None:
            self._home.take_back(self.bytes)

    @property
    def address(self) -> int:
        """Where it begins."""
        return self.bytes.ctypes.data

    def buffer(self, size: int) -> pa.Buffer:
        """Its first bytes; nothing may be written to them from then on."""
        return pa.foreign_buffer(self.address, size, base=self)


class Memory:
    """Gives out blocks. They may be asked for and let go of in any thread."""

    def __init__(self) -> None:
        self._free: deque[npt.NDArray[np.uint8]] = deque(maxlen=_MOST_FREE)
        self._is_retired = False

    def take_back(self, memory: npt.NDArray[np.uint8]) -> None:
        """Memory that nobody looks at any more."""
        if not self._is_retired:
            self._free.append(memory)

    def retire(self) -> None:
        """Keep nothing any more: whoever still holds a block holds no others with it."""
        self._is_retired = True
        self._free.clear()

    def block(self, size: int) -> Block:
        """A block of at least so many bytes, whatever they hold."""
        if size < _SMALL_BYTES:
            return Block(np.empty(size, dtype=np.uint8), None)
        size = -(-size // _GRAIN_BYTES) * _GRAIN_BYTES
        memory = self._taken(size)
        if memory is None:
            memory = _fresh(size)
        return Block(memory, self)

    def _taken(self, size: int) -> npt.NDArray[np.uint8] | None:
        """A free block that is large enough; if there is none, one that is a little too small goes.

        What is asked for grows now and then: what it has outgrown is not to stay for ever.
        """
        outgrown = None
        for _ in range(len(self._free)):
            try:
                memory = self._free.popleft()
            except IndexError:  # another thread was quicker
                break
            if size <= len(memory) <= _LARGEST_WASTE * size:
                if outgrown is not None:
                    self._free.append(outgrown)
                return memory
            if outgrown is None and len(memory) < size <= _LARGEST_WASTE * len(memory):
                outgrown = memory
            else:
                self._free.append(memory)
        return None


def _fresh(size: int) -> npt.NDArray[np.uint8]:
    """Memory from the system, of this process alone: a forked one keeps what it has.

    NumPy would ask for huge pages, which are cleared as a whole.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(size, dtype=np.uint8)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a system may know none
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype=np.uint8)
