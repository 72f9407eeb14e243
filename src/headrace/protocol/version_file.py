"""Decompress an IndexTables version file into JSON lines.

The file may be plain or gzip; its first bytes show which.
"""

import zlib

_GZIP = b"\x1f\x8b"
_PREFIX = b"\x01\x01"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
MAX_BYTES = 1 << 31
"""The largest decompressed size that this reader accepts."""


def inflate(content: bytes) -> bytes:
    """Return the lines of a file that is plain, gzip, or gzip after the bytes `01 01`.

    Raises:
        ValueError: the file is corrupt, or decompresses to more than `MAX_BYTES`.
    """
    compressed = content.removeprefix(_PREFIX)
    if not compressed.startswith(_GZIP):
        return content
    decompressor = zlib.decompressobj(_GZIP_WINDOW)
    try:
        lines = decompressor.decompress(compressed, MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"it does not decompress: {error}") from error
    if not decompressor.eof:
        raise ValueError("it does not decompress: the file ends early, or is too large")
    return lines
