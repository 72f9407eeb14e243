"""The pages of a large column chunk, one at a time, in memory that is used again and again.

Fresh memory costs as much as decompressing into it; and a chunk may be of any size.
"""

from collections.abc import Iterator
from typing import BinaryIO

from headrace.compiled.memory import Memory
from headrace.engines.arrow.lite.codec import Bytes, Codec
from headrace.engines.arrow.lite.page import Header, Page, body_size, read_page
from headrace.engines.arrow.lite.thrift import read_struct

_READ_BYTES = 1 << 20
_HEADER_BYTES = 1 << 12
"""Headers are shorter than this, but for those with long extremes."""
_LARGEST_PAGE_BYTES = 1 << 29


class PageStream:
    """Reads a part of a file as pages."""

    def __init__(
        self, file: BinaryIO, *, start: int, size: int, codec: Codec, memory: Memory
    ) -> None:
        self._file = file
        self._position = start
        self._unread = size
        self._codec = codec
        self._input, self._output = _Room(memory), _Room(memory)
        self._ahead = self._input.of(0)
        """What was read and is not used yet."""

    def __iter__(self) -> Iterator[Page]:
        """Each page; it is gone when the next one is asked for.

        Raises:
            ValueError: there is a page that this reader does not know.
            IndexError: the chunk ends too early.
        """
        while self._unread or self._ahead:
            header = self._header()
            body = self._take(body_size(header))
            yield read_page(header, body, is_repeated=False, decompress=self._decompressed)

    def _header(self) -> Header:
        wanted = _HEADER_BYTES
        while True:
            self._read(min(wanted, len(self._ahead) + self._unread))
            try:
                header, size = read_struct(self._ahead)
            except IndexError:
                if not self._unread:
                    raise
                wanted *= 2
            else:
                self._take(size)
                return header

    def _take(self, size: int) -> memoryview:
        self._read(size)
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    def _read(self, size: int) -> None:
        """See to it that so many bytes are there to take."""
        kept = len(self._ahead)
        if kept >= size:
            return
        end = kept + min(max(size - kept, _READ_BYTES), self._unread)
        room = self._input.of(max(end, size))
        room[:kept] = self._ahead
        self._file.seek(self._position)
        while kept < end and (count := self._file.readinto(room[kept:end])):  # type: ignore[attr-defined]
            kept += count
            self._position += count
            self._unread -= count
        if kept < size:
            raise IndexError("the chunk ends too early")
        self._ahead = room[:kept]

    def _decompressed(self, body: Bytes, size: int) -> Bytes:
        if self._codec.name == "UNCOMPRESSED":
            return body
        out = self._output.of(size)
        self._codec.decompress_into(body, out)
        return out


class _Room:
    """Memory that grows to what was needed most."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._block = memory.block(0)

    def of(self, size: int) -> memoryview:
        """So many bytes of it, whatever they hold."""
        if not 0 <= size <= _LARGEST_PAGE_BYTES:
            raise ValueError(f"a page of {size} bytes is not for this reader")
        if len(self._block) < size:
            self._block = self._memory.block(size + size // 2)  # the next page is a little larger
        return self._block.bytes[:size].data
