"""A file over ranges: what can read bytes at a position becomes something to seek in."""

import io
import os
from abc import abstractmethod
from typing import BinaryIO, cast


class RangedFile(io.BufferedIOBase):
    """Keeps the position; whoever derives from it reads, tells the size, and releases.

    A read of so many bytes asks for just those, and only asks again if it got fewer: a range is
    a request, and to look ahead would double it. The position moves by what was read and by
    nothing else: a read that fails leaves it where it stood.
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

    def read(self, size: int | None = -1, /) -> bytes:
        """As many bytes, or all that are left."""
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
        """As many bytes: a range comes whole."""
        return self.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a position; nothing is read yet."""
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
        """Where the next read starts."""
        self._check_open()
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

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the file is closed")


def as_binary(file: RangedFile) -> BinaryIO:
    """The file under the type that callers know: `io` and `typing` do not share one."""
    return cast("BinaryIO", file)


def read_into(file: BinaryIO, room: memoryview) -> None:
    """Fill memory with the next bytes of a file.

    Raises:
        IndexError: there are fewer.
    """
    done = 0
    while done < len(room) and (count := file.readinto(room[done:])):  # type: ignore[attr-defined]
        done += count
    if done < len(room):
        raise IndexError("the file ends too early")
