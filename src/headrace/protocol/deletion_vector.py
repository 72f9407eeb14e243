"""Locate and decode deletion vectors: the sets of deleted rows of data files.

A vector is a set of 64-bit row indexes: a magic number, then roaring bitmaps in the portable
format. It is stored inline in the log, as text, or in a file that may hold many vectors, each
between its length and a checksum. An inconsistent vector is an error: ignoring it would bring
deleted rows back.
"""

import base64
import binascii
from uuid import UUID
from zlib import crc32

from pyroaring import BitMap64

from headrace.errors import CorruptDeletionVectorError
from headrace.protocol.action import DeletionVector

FILE_VERSION = 1
"""The first byte of a deletion-vector file."""
FIRST_OFFSET = 1
"""The offset of the first vector in a file; also used if the log names no offset."""
FRAME_BYTES = 8
"""The size of the length before a stored vector plus the checksum after it."""

_MAGIC = (1681511377).to_bytes(4, "little")
_UUID_CHARACTERS = 20
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_PYTHON_85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_PYTHON_85 = str.maketrans(_Z85, _PYTHON_85)


def is_inline(vector: DeletionVector) -> bool:
    """Whether the vector is stored inline in the log."""
    return vector.storage_type == "i"


def relative_path(vector: DeletionVector) -> str | None:
    """Return the path of the vector's file below the table; None if its path is absolute.

    The result is a plain path, not a URI.

    Raises:
        CorruptDeletionVectorError: the storage type is unknown, or the name cannot be decoded.
    """
    match vector.storage_type:
        case "p":
            return None
        case "u":
            place = vector.path_or_inline_dv
            folder, name = place[:-_UUID_CHARACTERS], place[-_UUID_CHARACTERS:]
            file = f"deletion_vector_{UUID(bytes=_z85_decoded(name, vector, size_bytes=16))}.bin"
            return f"{folder}/{file}" if folder else file
        case storage_type:
            raise _corrupt(vector, f"there is no storage type {storage_type!r}")


def decode_inline(vector: DeletionVector) -> BitMap64:
    """Decode the deleted rows of an inline vector.

    Raises:
        CorruptDeletionVectorError: the text, bitmaps or cardinality are wrong.
    """
    size_bytes = vector.size_in_bytes
    text = vector.path_or_inline_dv
    return _decode(_z85_decoded(text, vector, size_bytes=size_bytes), vector)


def decode_stored(frame: bytes, vector: DeletionVector) -> BitMap64:
    """Decode the deleted rows from the bytes at the vector's offset: length, bitmaps, checksum.

    Raises:
        CorruptDeletionVectorError: length, checksum, bitmaps or cardinality are wrong.
    """
    size_bytes = vector.size_in_bytes
    if len(frame) != size_bytes + FRAME_BYTES:
        raise _corrupt(vector, f"its file ends before the {size_bytes} bytes that the log records")
    stored_bytes = int.from_bytes(frame[:4], "big")
    if stored_bytes != size_bytes:
        raise _corrupt(vector, f"it has {stored_bytes} bytes, the log says {size_bytes}")
    payload = frame[4:-4]
    if crc32(payload) != int.from_bytes(frame[-4:], "big"):
        raise _corrupt(vector, "its checksum is wrong")
    return _decode(payload, vector)


def _decode(payload: bytes, vector: DeletionVector) -> BitMap64:
    if not payload and not vector.cardinality:
        return BitMap64()
    if payload[:4] != _MAGIC:
        raise _corrupt(vector, f"it begins with {payload[:4].hex(' ')}, not with the magic number")
    try:
        # This also validates the bitmaps, so that corrupt ones cannot do harm later.
        rows = BitMap64.deserialize(payload[4:])
    except (ValueError, IndexError) as error:
        raise _corrupt(vector, f"its bitmaps cannot be decoded ({error})") from error
    if len(rows) != vector.cardinality:
        raise _corrupt(vector, f"it has {len(rows)} rows, the log says {vector.cardinality}")
    return rows


def _z85_decoded(text: str, vector: DeletionVector, *, size_bytes: int) -> bytes:
    """Decode Z85 text to exactly `size_bytes` bytes.

    If the size is not a multiple of four, most writers pad the last group at the end. Those that
    use Rust's z85 prefix it with one `#` per missing byte; no full group starts with `#`.
    """
    groups = -(-size_bytes // 4)
    if len(text) != 5 * groups or not set(text) <= set(_Z85):
        raise _corrupt(vector, f"its text does not encode {size_bytes} bytes")
    ending = text[-5:]
    missing = len(ending) - len(ending.lstrip("#"))
    whole = text[:-5] + "0" * missing + ending[missing:]
    try:
        data = base64.b85decode(whole.translate(_TO_PYTHON_85))
    except (ValueError, binascii.Error) as error:
        raise _corrupt(vector, f"its text cannot be decoded ({error})") from error
    if not missing:
        return data[:size_bytes]
    body, filler, last = data[:-4], data[-4 : missing - 4], data[missing - 4 :]
    if any(filler) or len(body) + len(last) != size_bytes:
        raise _corrupt(vector, f"its text does not encode {size_bytes} bytes")
    return body + last


def _corrupt(vector: DeletionVector, reason: str) -> CorruptDeletionVectorError:
    return CorruptDeletionVectorError(vector=vector.unique_id, reason=reason)
