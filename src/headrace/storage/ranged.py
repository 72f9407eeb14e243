"""A file over ranges: what can read bytes at a position becomes something to seek in."""

import io
import os
from abc import abstractmethod
from typing import Any, BinaryIO


class RangedFile(io.RawIOBase):
    """Keeps the position; whoever derives from it reads, tells the size, and releases.

    The position moves by what was read and by nothing else: a read that fails leaves it where
    it stood.
    """

    def __init__(self) -> None:
        super().__init__()
        self._position = 0

    @abstractmethod
    def read_at(self, position: int, size: int) -> bytes:
        """Some of the bytes from a position, at most so many; none: that is the end."""

    @abstractmethod
    def size_bytes(self) -> int:
        """How many bytes there are."""

    @abstractmethod
    def release(self) -> None:
        """Let go of what is open; called once."""

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as one read goes."""
        if self.closed:
            raise ValueError("the file is closed")
        data = self.read_at(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a position; nothing is read yet."""
        start = 0
        if whence == os.SEEK_CUR:
            start = self._position
        elif whence == os.SEEK_END:
            start = self.size_bytes()
        if start + offset < 0:
            raise ValueError(f"negative position {start + offset}")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        """Where the next read starts."""
        return self._position

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Release the file."""
        if not self.closed:
            try:
                self.release()
            finally:
                super().close()


def buffered(file: RangedFile) -> BinaryIO:
    """The file as callers know files: a read gives as many bytes as it was asked for."""
    return io.BufferedReader(file)
