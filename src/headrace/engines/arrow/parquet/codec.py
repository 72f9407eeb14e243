"""Decompresses the pages of a Parquet file, to exactly the size that the page header states."""

from collections.abc import Callable
from typing import Any, TypeAlias

import cramjam
import msgspec

Bytes: TypeAlias = bytes | memoryview

_NUMBERS = {0: "UNCOMPRESSED", 1: "SNAPPY", 2: "GZIP", 6: "ZSTD"}
"""The codecs by their number in a footer."""
_MAX_BYTES = 1 << 30


def _copy(body: Any, out: Any) -> int:
    out[:] = body
    return len(body)


_INTO: dict[str, Callable[[Any, Any], int]] = {
    "UNCOMPRESSED": _copy,
    "SNAPPY": cramjam.snappy.decompress_raw_into,
    "GZIP": cramjam.gzip.decompress_into,
    "ZSTD": cramjam.zstd.decompress_into,
}


class Codec(msgspec.Struct, frozen=True):
    """The compression codec of a column chunk."""

    name: str

    @classmethod
    def numbered(cls, number: int) -> "Codec":
        """Return the codec with a number; an unknown one fails to decompress."""
        return cls(_NUMBERS.get(number, str(number)))

    def decompress(self, body: Bytes, size: int) -> bytes:
        """Decompress a body to exactly `size` bytes.

        Raises:
            ValueError: the body is damaged, or the codec is not supported.
        """
        if self.name == "UNCOMPRESSED" and len(body) == size:
            return bytes(body)
        if not 0 <= size <= _MAX_BYTES:
            raise ValueError(f"a page of {size} bytes is not supported")
        out = bytearray(size)
        self.decompress_into(body, memoryview(out))
        return bytes(out)

    def decompress_into(self, body: Bytes, out: memoryview) -> None:
        """Decompress a body to exactly the size of `out`."""
        into = _INTO.get(self.name)
        if into is None:
            raise ValueError(f"codec {self.name} is not supported")
        try:
            size = into(body, out)
        except cramjam.DecompressionError as error:
            raise ValueError(str(error)) from error
        if size != len(out):
            raise ValueError(f"the page decompresses to {size} bytes, not {len(out)}")
