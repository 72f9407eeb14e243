"""The bytes of an IndexTables version file: JSON lines, plain or compressed, as its bytes tell."""

import zlib

_GZIP = b"\x1f\x8b"
_PREFIX = b"\x01\x01"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
LARGEST_BYTES = 1 << 31
"""No file that this reader opens inflates to more."""


def inflate(content: bytes) -> bytes:
    """Return the lines of a file: as they are, from gzip, or from gzip after the bytes `01 01`.

    Raises:
        ValueError: it is damaged, or inflates to more than this reader takes.
    """
    packed = content.removeprefix(_PREFIX)
    if not packed.startswith(_GZIP):
        return content
    machine = zlib.decompressobj(_GZIP_WINDOW)
    try:
        lines = machine.decompress(packed, LARGEST_BYTES)
    except zlib.error as error:
        raise ValueError(f"it does not decompress: {error}") from error
    if not machine.eof:
        raise ValueError("it does not decompress: the file ends early, or is too large")
    return lines
