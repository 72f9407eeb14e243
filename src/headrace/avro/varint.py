"""Encode and decode Avro's variable-length integers, for headers and block frames.

`record` and `program` decode the integers inside records.
"""

_MAX_BITS = 63


def write_long(value: int) -> bytes:
    """Encode a 64-bit integer."""
    rest = (value << 1) ^ (value >> _MAX_BITS)
    out = bytearray()
    while rest > 0x7F:  # noqa: PLR2004
        out.append(0x80 | (rest & 0x7F))
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_long(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Decode the integer at an offset; return it with the offset after it.

    Raises:
        IndexError: the data ends within the integer.
        ValueError: the integer has more than 64 bits.
    """
    shift = rest = 0
    while True:
        byte = data[at]
        at += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            break
        shift += 7
        if shift > _MAX_BITS:
            raise ValueError("a number has more than 64 bits")
    if rest >> (_MAX_BITS + 1):
        raise ValueError("a number has more than 64 bits")
    return (rest >> 1) ^ -(rest & 1), at
