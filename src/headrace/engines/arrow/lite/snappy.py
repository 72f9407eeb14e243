"""Decompressing a small Snappy block: a page of metadata, not of data."""

from headrace.engines.arrow.lite.varint import read_varint


def decompress(block: bytes) -> bytes:
    """The bytes that a raw Snappy block stands for.

    Raises:
        ValueError: the block is damaged.
        IndexError: it ends too early.
    """
    size, at = read_varint(block, 0)
    out = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        kind = tag & 0b11
        if kind == 0:
            length, at = _literal_length(block, at, tag >> 2)
            out += block[at : at + length]
            at += length
            continue
        if kind == 1:
            length, offset = ((tag >> 2) & 0b111) + 4, ((tag >> 5) << 8) | block[at]
            at += 1
        else:
            width = 2 if kind == 2 else 4  # noqa: PLR2004  (as the format has it)
            length, offset = (tag >> 2) + 1, int.from_bytes(block[at : at + width], "little")
            at += width
        start = len(out) - offset
        if offset == 0 or start < 0:
            raise ValueError("a copy reaches before the beginning")
        # A copy may overlap what it writes: then it repeats its own beginning.
        piece = bytes(out[start : start + length])
        out += (piece * (length // len(piece) + 1))[:length]
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes came out of a block of {size}")
    return bytes(out)


def _literal_length(block: bytes, at: int, short: int) -> tuple[int, int]:
    if short < 60:  # noqa: PLR2004  (longer ones keep their length in the bytes that follow)
        return short + 1, at
    width = short - 59
    return int.from_bytes(block[at : at + width], "little") + 1, at + width
