"""Byte sources for the engine's readers."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from headrace.engines.log_bytes import LogBytes, LogCache
from headrace.errors import ObjectTooShortError
from headrace.metrics.meter import Meter
from headrace.storage.byte_range import ByteRange
from headrace.storage.store import Store

CACHE_BYTES = 1 << 20


def log_bytes(store: Store) -> LogBytes:
    """Return the log of a store, for one run."""
    return LogBytes(store, cache=LogCache(CACHE_BYTES), meter=Meter())


class Content:
    """The bytes of a Parquet file, as the reader without Arrow requests them."""

    def __init__(self, content: bytes | BytesIO | Path, *, tail_bytes: int = 64 << 10) -> None:
        if isinstance(content, Path):
            content = content.read_bytes()
        self._content = content.getvalue() if isinstance(content, BytesIO) else content
        self._tail_bytes = tail_bytes
        self.reads = 0

    def tail(self) -> tuple[bytes, int]:
        return self._content[-self._tail_bytes :], len(self._content)

    def ranges(self, ranges: Sequence[ByteRange]) -> list[memoryview]:
        self.reads += 1
        if any(requested.stop > len(self._content) for requested in ranges):
            raise ObjectTooShortError(path="content", expected_bytes=len(self._content))
        view = memoryview(self._content)
        return [view[requested.start : requested.stop] for requested in ranges]

    def learn(self, footer_bytes: int, *, file_bytes: int) -> None:
        """Ignore the sizes."""
