"""Unsigned integers in as few bytes as they need, as Thrift, Parquet and Snappy write them."""


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The integer that begins there, and where it ends.

    Raises:
        IndexError: the bytes end too early.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the top bit says that more follows)
            return value, at
        shift += 7
