"""Decodes the pages of a column chunk: headers, levels and decompressed values.

The bytes of a chunk enter; `Page` values leave. Unsupported pages raise `ValueError`.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from headrace.engines.arrow.parquet.codec import Bytes
from headrace.engines.arrow.parquet.thrift import read_struct

Decompress: TypeAlias = Callable[[Bytes, int], Bytes]
"""Decompresses a body to exactly the given number of bytes."""
Header: TypeAlias = dict[int, Any]
"""A page header, by field id."""

BYTE_ARRAY = 6
_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_INT32, _INT64 = 1, 2

# Field ids of Parquet's page header, where they are used.
_TYPE, _PLAIN_SIZE, _SIZE, _CHECKSUM = 1, 2, 3, 4
_V1, _DICTIONARY, _V2 = 5, 7, 8
_COUNT, _ENCODING, _ENCODING_V2 = 1, 2, 4
_DEFINITION_SIZE, _REPETITION_SIZE, _IS_COMPRESSED = 5, 6, 7


class Page(msgspec.Struct, frozen=True):
    """One page. A dictionary page has no levels."""

    is_dictionary: bool
    count: int
    """The number of entries, including nulls."""
    is_coded: bool
    """Whether its values are dictionary codes; if not, they are plain."""
    repetitions: bytes
    definitions: bytes
    values: Bytes


def read_pages(data: Bytes, *, is_repeated: bool, decompress: Decompress) -> Iterator[Page]:
    """Yield the pages of a chunk in order.

    Raises:
        ValueError: a page is not supported by this reader.
        IndexError: the bytes end too early.
    """
    for header, body in _headers(data):
        yield read_page(header, data[body], is_repeated=is_repeated, decompress=decompress)


def first_page(data: Bytes, *, is_repeated: bool, decompress: Decompress) -> tuple[Page, int]:
    """Return the first page of a chunk, and the offset of the next one.

    Raises:
        ValueError: the page is not supported by this reader.
        IndexError: the bytes end too early.
    """
    header, at = read_struct(data)
    end = at + body_size(header)
    page = read_page(header, data[at:end], is_repeated=is_repeated, decompress=decompress)
    return page, end


def are_all_coded(data: Bytes) -> bool:
    """Return whether every value of a chunk is a code, reading only the page headers.

    A writer whose dictionary grows too large continues with plain values, which the
    dictionary lacks.

    Raises:
        ValueError: a page is not supported by this reader.
        IndexError: the bytes end too early.
    """
    for header, _ in _headers(data):
        if header[_TYPE] == _DATA_PAGE and not _is_coded(header[_V1][_ENCODING]):
            return False
        if header[_TYPE] == _DATA_PAGE_V2 and not _is_coded(header[_V2][_ENCODING_V2]):
            return False
    return True


def _headers(data: Bytes) -> Iterator[tuple[Header, slice]]:
    """Yield the header of each page, and the slice of its body."""
    at = 0
    while at < len(data):
        header, at = read_struct(data, at)
        body = slice(at, at + body_size(header))
        yield header, body
        at = body.stop


def body_size(header: Header) -> int:
    """Return the size of the body that follows a header.

    Raises:
        ValueError: the size is negative.
    """
    size: int = header[_SIZE]
    if size < 0:
        raise ValueError("a page has a negative size")
    return size


def plain_values(data: Bytes, count: int, physical_type: int) -> list[Any]:
    """Decode plain values: strings and integers.

    Raises:
        ValueError: they have another type, are not valid UTF-8, or end too early.
    """
    values: list[Any] = []
    at = 0
    for _ in range(count):
        if physical_type == BYTE_ARRAY:
            size = int.from_bytes(data[at : at + 4], "little")
            values.append(str(data[at + 4 : at + 4 + size], "utf-8"))
            at += 4 + size
        elif physical_type in (_INT32, _INT64):
            size = 4 if physical_type == _INT32 else 8
            values.append(int.from_bytes(data[at : at + size], "little", signed=True))
            at += size
        else:
            raise ValueError(f"physical type {physical_type} is not supported")
    if at > len(data):
        raise ValueError("the values end too early")
    return values


def read_page(header: Header, body: Bytes, *, is_repeated: bool, decompress: Decompress) -> Page:
    """Decode one page from its header and body.

    Raises:
        ValueError: it is damaged, or not supported by this reader.
    """
    _check_sum(header, body)
    kind, plain_size = header[_TYPE], header[_PLAIN_SIZE]
    if kind == _DATA_PAGE:
        head, plain, at = header[_V1], decompress(body, plain_size), 0
        repetitions = b""
        if is_repeated:
            repetitions, at = _take_sized(plain, at)
        definitions, at = _take_sized(plain, at)
        coded = _is_coded(head[_ENCODING])
        return Page(False, head[_COUNT], coded, repetitions, definitions, plain[at:])
    if kind == _DATA_PAGE_V2:
        head = header[_V2]
        split = head[_REPETITION_SIZE]
        start = split + head[_DEFINITION_SIZE]
        if not 0 <= split <= start <= len(body):
            raise ValueError("the levels of a page have an impossible size")
        values = body[start:]
        if head.get(_IS_COMPRESSED, True):
            values = decompress(values, plain_size - start)
        coded = _is_coded(head[_ENCODING_V2])
        levels = bytes(body[:start])
        return Page(False, head[_COUNT], coded, levels[:split], levels[split:], values)
    if kind == _DICTIONARY_PAGE:
        plain = decompress(body, plain_size)
        return Page(True, header[_DICTIONARY][_COUNT], False, b"", b"", plain)
    raise ValueError(f"a page of type {kind} is not supported")


def _check_sum(header: Header, body: Bytes) -> None:
    """Compare a body with its checksum, if it has one; the header stores it as a signed number."""
    checksum = header.get(_CHECKSUM)
    if checksum is not None and zlib.crc32(body) != checksum % 2**32:
        raise ValueError("the checksum of a page is wrong")


def _is_coded(encoding: int) -> bool:
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return True
    if encoding == _PLAIN:
        return False
    raise ValueError(f"encoding {encoding} is not supported")


def _take_sized(data: Bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(data[at : at + 4], "little")
    return bytes(data[at + 4 : end]), end
