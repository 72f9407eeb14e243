"""Write deletion vectors by hand from the format specification, without a roaring library."""

import struct
import zlib
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
MAGIC = 1681511377
ARRAY_AT_MOST = 4096


def z85(data: bytes) -> str:
    padded = data + bytes(-len(data) % 4)
    text = ""
    for start in range(0, len(padded), 4):
        number = int.from_bytes(padded[start : start + 4], "big")
        digits = []
        for _ in range(5):
            number, digit = divmod(number, 85)
            digits.append(Z85[digit])
        text += "".join(reversed(digits))
    return text


def bitmaps(rows: Iterable[int]) -> bytes:
    """Return a vector's payload: the magic number and a 32-bit roaring bitmap per upper half."""
    high = [(key, [row & 0xFFFF_FFFF for row in group]) for key, group in _by(rows, 32)]
    out = struct.pack("<IQ", MAGIC, len(high))
    for key, low in high:
        out += struct.pack("<I", key) + _roaring(low)
    return out


def _by(rows: Iterable[int], shift: int) -> list[tuple[int, list[int]]]:
    ordered = sorted(set(rows))
    return [(key, list(group)) for key, group in groupby(ordered, lambda row: row >> shift)]


def _roaring(rows: list[int]) -> bytes:
    containers = [(key, [row & 0xFFFF for row in group]) for key, group in _by(rows, 16)]
    out = struct.pack("<II", 12346, len(containers))
    for key, low in containers:
        out += struct.pack("<HH", key, len(low) - 1)
    bodies = [_container(low) for _, low in containers]
    position = len(out) + 4 * len(containers)
    for body in bodies:
        out += struct.pack("<I", position)
        position += len(body)
    return out + b"".join(bodies)


def _container(low: list[int]) -> bytes:
    if len(low) <= ARRAY_AT_MOST:
        return struct.pack(f"<{len(low)}H", *low)
    bits = bytearray(8192)
    for row in low:
        bits[row >> 3] |= 1 << (row & 7)
    return bytes(bits)


def frame(payload: bytes) -> bytes:
    """Return a payload as a file stores it, with its size and checksum."""
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def inline_vector(rows: Iterable[int]) -> dict[str, Any]:
    rows = set(rows)
    payload = bitmaps(rows)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(payload),
        "sizeInBytes": len(payload),
        "cardinality": len(rows),
    }


def stored_vector(
    table: Path, rows: Iterable[int], *, uuid: UUID, prefix: str = "", offset: int = 1
) -> dict[str, Any]:
    """Write a file with the vector at `offset`, and return the descriptor for the log."""
    rows = set(rows)
    payload = bitmaps(rows)
    path = table / prefix / f"deletion_vector_{uuid}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x01".ljust(offset, b"\xaa") + frame(payload))
    return {
        "storageType": "u",
        "pathOrInlineDv": prefix + z85(uuid.bytes),
        "offset": offset,
        "sizeInBytes": len(payload),
        "cardinality": len(rows),
    }


def absolute_vector(table: Path, rows: Iterable[int], *, uuid: UUID) -> dict[str, Any]:
    """Write the vector to a file that the log references by its absolute address."""
    relative = stored_vector(table, rows, uuid=uuid)
    path = f"file://{table}/deletion_vector_{uuid}.bin".replace(" ", "%20")
    return {**relative, "storageType": "p", "pathOrInlineDv": path}
