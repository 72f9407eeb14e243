"""A seekable file on top of ranged reads.

A subclass supplies reads at a position; `RangedFile` turns these into a standard binary file.
"""

import io
import os
from abc import abstractmethod
from typing import BinaryIO, cast


class RangedFile(io.BufferedIOBase):
    """A seekable file; subclasses implement `read_at`, `size_bytes` and `release`.

    A read requests exactly `size` bytes, and requests more only if it received fewer. There is no
    read-ahead, since each range is a request. The position advances only by the bytes that were
    read: a failed read does not move it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._position = 0

    @abstractmethod
    def read_at(self, position: int, size: int) -> bytes:
        """Read at most `size` bytes at `position`; an empty result means end of file."""

    @abstractmethod
    def size_bytes(self) -> int:
        """Return the size of the file."""

    @abstractmethod
    def release(self) -> None:
        """Release open resources; called once."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, or all remaining bytes."""
        self._check_open()
        if size is None or size < 0:
            size = max(self.size_bytes() - self._position, 0)
        parts: list[bytes] = []
        missing = size
        while missing > 0 and (part := self.read_at(self._position + size - missing, missing)):
            parts.append(part)
            missing -= len(part)
        self._position += size - missing
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes, like `read`."""
        return self.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a position without reading."""
        self._check_open()
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
        """Return the position of the next read."""
        self._check_open()
        return self._position

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Release the file."""
        if not self.closed:
            try:
                self.release()
            finally:
                super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the file is closed")


def as_binary(file: RangedFile) -> BinaryIO:
    """Cast the file to `BinaryIO`: the types of `io` and `typing` are unrelated."""
    return cast("BinaryIO", file)


def read_into(file: BinaryIO, buffer: memoryview) -> None:
    """Fill `buffer` with the next bytes of a file.

    Raises:
        IndexError: the file ends before `buffer` is full.
    """
    total = 0
    while total < len(buffer) and (count := file.readinto(buffer[total:])):  # type: ignore[attr-defined]
        total += count
    if total < len(buffer):
        raise IndexError("the file ends too early")
