"""Unsigned integers in as few bytes as they need, as Thrift, Parquet and Snappy write them."""

_MOST_BITS = 64


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The integer that begins there, and where it ends.

    Raises:
        IndexError: the bytes end too early.
        ValueError: it has more bits than any integer there.
    """
    value = shift = 0
    while True:
        if shift > _MOST_BITS:
            raise ValueError("an integer does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the top bit says that more follows)
            return value, at
        shift += 7
