"""Decodes variable-length unsigned integers, as used by Thrift, Parquet and Snappy."""

_MAX_BITS = 64


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the integer at an offset, and the offset of its end.

    Raises:
        IndexError: the bytes end too early.
        ValueError: it has too many bits.
    """
    value = shift = 0
    while True:
        if shift > _MAX_BITS:
            raise ValueError("an integer does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the top bit says that more follows)
            return value, at
        shift += 7
