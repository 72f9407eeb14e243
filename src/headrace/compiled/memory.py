"""Memory for columns, reused once no buffer refers to it.

The system clears fresh memory page by page on the first write. For columns of a few megabytes
that takes as long as filling them.
"""

import mmap
from collections import deque
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SMALL_BYTES = 1 << 17
"""Smaller blocks are not worth keeping."""
_GRAIN_BYTES = 1 << 19
"""Sizes are rounded up to this, because requested sizes rarely repeat."""
_MAX_FREE = 32
_MAX_WASTE = 2
"""A reused block may be at most this many times larger than requested."""


class Block:
    """A block of memory. It is free again when this object and all its buffers are gone."""

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
        """The address of its first byte."""
        return self.bytes.ctypes.data

    def buffer(self, size: int) -> pa.Buffer:
        """Return its first `size` bytes, which must not be written to from then on."""
        return pa.foreign_buffer(self.address, size, base=self)


class Memory:
    """A pool of blocks. Any thread may request and release them.

    It keeps up to `most_free` blocks that are not in use; those below `small_bytes` are not pooled.
    """

    def __init__(self, *, most_free: int = _MAX_FREE, small_bytes: int = _SMALL_BYTES) -> None:
        self._free: deque[npt.NDArray[np.uint8]] = deque(maxlen=most_free)
        self._small_bytes = small_bytes
        self._is_retired = False

    def take_back(self, memory: npt.NDArray[np.uint8]) -> None:
        """Keep memory that is no longer used, for later requests."""
        if not self._is_retired:
            self._free.append(memory)

    def retire(self) -> None:
        """Stop keeping free memory, so that a block still in use keeps no other memory alive."""
        self._is_retired = True
        self._free.clear()

    def block(self, size: int) -> Block:
        """Return a block of at least `size` bytes with arbitrary contents."""
        if size < self._small_bytes:
            return Block(np.empty(size, dtype=np.uint8), None)
        size = -(-size // _GRAIN_BYTES) * _GRAIN_BYTES
        memory = self._reused(size)
        if memory is None:
            memory = _allocate(size)
        return Block(memory, self)

    def _reused(self, size: int) -> npt.NDArray[np.uint8] | None:
        """Take free memory that is large enough; if none is, drop one that is slightly too small.

        Requests grow now and then, and outgrown memory must not be kept for ever.
        """
        outgrown = None
        for _ in range(len(self._free)):
            try:
                memory = self._free.popleft()
            except IndexError:  # another thread was quicker
                break
            if size <= len(memory) <= _MAX_WASTE * size:
                if outgrown is not None:
                    self._free.append(outgrown)
                return memory
            if outgrown is None and len(memory) < size <= _MAX_WASTE * len(memory):
                outgrown = memory
            else:
                self._free.append(memory)
        return None


def _allocate(size: int) -> npt.NDArray[np.uint8]:
    """Allocate memory that is private to this process: a forked one keeps its own copy.

    NumPy would request huge pages, which are cleared as a whole.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(size, dtype=np.uint8)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # the system may not support huge pages
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype=np.uint8)
