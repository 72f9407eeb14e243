"""Compress and decompress the blocks of an Avro file, within a size limit.

The limit bounds the memory that a damaged or hostile file can claim.
"""

import zlib
from enum import Enum
from typing import TypeAlias

import cramjam
import msgspec

Bytes: TypeAlias = bytes | bytearray | memoryview
Records: TypeAlias = bytes | bytearray
"""The decompressed records of a block."""

MAX_BLOCK_BYTES = 1 << 28
"""The maximum decompressed block size that this reader accepts; writers make about 100 kB."""

_MAX_LEVEL = 22
_CHECKSUM_BYTES = 4
_NO_ROOM = "write whole buffer"
"""cramjam's error text when the output does not fit into the buffer."""


class CodecName(Enum):
    """The supported codecs, by their names in the header."""

    ZSTD = "zstandard"
    SNAPPY = "snappy"
    DEFLATE = "deflate"
    NONE = "null"


class Codec(msgspec.Struct, frozen=True):
    """A compression codec; `level` applies to zstd only."""

    name: CodecName = CodecName.ZSTD
    level: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.level <= _MAX_LEVEL:
            raise ValueError(f"zstd has levels 1 to {_MAX_LEVEL}, not {self.level}")

    def compress(self, body: bytes) -> bytes:
        """Compress the records of a block."""
        match self.name:
            case CodecName.NONE:
                return body
            case CodecName.ZSTD:
                return bytes(cramjam.zstd.compress(body, level=self.level))
            case CodecName.DEFLATE:
                return bytes(cramjam.deflate.compress(body))
            case CodecName.SNAPPY:
                checksum = zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big")
                return bytes(cramjam.snappy.compress_raw(body)) + checksum

    def decompress(self, block: Bytes, *, limit: int = MAX_BLOCK_BYTES) -> Records:
        """Decompress a block.

        Raises:
            ValueError: the block is damaged, or decompresses to more than `limit` bytes.
        """
        try:
            match self.name:
                case CodecName.NONE:
                    body: Records = bytes(block)
                case CodecName.ZSTD:
                    body = _unzstd(block, limit)
                case CodecName.DEFLATE:
                    body = _inflate(block, limit)
                case CodecName.SNAPPY:
                    body = _unsnappy(block, limit)
        except (cramjam.DecompressionError, zlib.error, OSError) as error:
            raise ValueError(f"the block does not decompress: {error}") from error
        if len(body) > limit:
            raise ValueError(f"the block decompresses to more than {limit:,} bytes")
        return body

    def size_of(self, block: Bytes) -> int | None:
        """Return the decompressed size that a block states; None if it states none.

        Raises:
            ValueError: the block is damaged.
        """
        return zstd_size(block) if self.name is CodecName.ZSTD else None

    def decompress_into(self, block: Bytes, out: memoryview) -> None:
        """Decompress a block whose stated size is that of `out`.

        Raises:
            ValueError: the block is damaged, or has another size.
        """
        if self.name is not CodecName.ZSTD:
            raise TypeError(f"{self.name.value} blocks do not state their size")
        try:
            _unzstd_into(block, out)
        except cramjam.DecompressionError as error:
            raise ValueError(f"the block does not decompress: {error}") from error


def codec_named(name: str) -> Codec | None:
    """Return the codec with this name in a header; None if it is not supported."""
    try:
        return Codec(CodecName(name))
    except ValueError:
        return None


def _unzstd(block: Bytes, limit: int) -> Records:
    size = zstd_size(block)
    if size is not None:
        if size > limit:
            raise ValueError(f"the block decompresses to more than {limit:,} bytes")
        out = bytearray(size)
        _unzstd_into(block, out)
        return out
    # The frame does not store its size, as in files written by Java: grow the buffer until it fits.
    room = max(1 << 16, 8 * len(block))
    while True:
        out = bytearray(min(room, limit + 1))
        try:
            written = cramjam.zstd.decompress_into(block, out)
        except cramjam.DecompressionError as error:
            if _NO_ROOM not in str(error) or len(out) > limit:
                raise
            room *= 8
            continue
        if written > limit:
            raise ValueError(f"the block decompresses to more than {limit:,} bytes")
        del out[written:]
        return out


def _unzstd_into(block: Bytes, out: bytearray | memoryview) -> None:
    size = len(out)
    written = cramjam.zstd.decompress_into(block, out) if size else 0
    if written != size:
        raise ValueError(f"the block decompresses to {written} bytes, not {size}")


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_FLAG_SIZES = (0, 2, 4, 8)
_DICTIONARY_SIZES = (0, 1, 2, 4)


def zstd_size(block: Bytes) -> int | None:
    """Return the decompressed size stored in a zstd frame header; None if it stores none.

    Raises:
        ValueError: the block is not a zstd frame.
    """
    head = bytes(block[:18])
    if head[:4] != _ZSTD_MAGIC or len(head) < 6:  # noqa: PLR2004
        raise ValueError("the block is not a zstd frame")
    descriptor = head[4]
    is_single = bool(descriptor & 0x20)
    width = _FLAG_SIZES[descriptor >> 6] or int(is_single)
    if not width:
        return None
    at = 5 + (not is_single) + _DICTIONARY_SIZES[descriptor & 3]
    if len(head) < at + width:
        raise ValueError("the block is not a zstd frame")
    size = int.from_bytes(head[at : at + width], "little")
    return size + 256 if width == 2 else size  # noqa: PLR2004


def _inflate(block: Bytes, limit: int) -> bytes:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    body = decompressor.decompress(block, limit + 1)
    if not decompressor.eof and len(body) <= limit:
        raise ValueError("the block ends early")
    return body


def _unsnappy(block: Bytes, limit: int) -> bytes:
    packed, checksum = block[:-_CHECKSUM_BYTES], bytes(block[-_CHECKSUM_BYTES:])
    if len(checksum) < _CHECKSUM_BYTES:
        raise ValueError("the block ends early")
    size = cramjam.snappy.decompress_raw_len(packed)
    if size > limit:
        raise ValueError(f"the block decompresses to more than {limit:,} bytes")
    body = bytes(cramjam.snappy.decompress_raw(packed))
    if zlib.crc32(body) != int.from_bytes(checksum, "big"):
        raise ValueError("the checksum of the block is wrong")
    return body
