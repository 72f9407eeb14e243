"""The values of one column chunk, each with its definition level.

Nearly all rows of a checkpoint are null in the columns that are read here, so that levels are
taken run by run, and only what is there is given.
"""

import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

from headrace.engines.arrow.lite.footer import Leaf
from headrace.engines.arrow.lite.snappy import decompress
from headrace.engines.arrow.lite.thrift import read_struct

LARGEST_CHUNK_BYTES = 1 << 20
_UNCOMPRESSED, _SNAPPY, _GZIP = 0, 1, 2
_INT32, _INT64, _BYTE_ARRAY = 1, 2, 6
_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3

# Field ids of Parquet's metadata, where they are used.
CODEC, VALUES, COMPRESSED_SIZE, DATA_OFFSET, DICTIONARY_OFFSET, STATISTICS = 4, 5, 7, 9, 11, 12
NULL_COUNT = 3
_TYPE, _SIZE = 1, 3
_V1, _DICTIONARY, _V2 = 5, 7, 8

Entry: TypeAlias = tuple[int, Any]
"""Definition level, value (None where the level ends above the leaf)."""


def is_empty(chunk: dict[int, Any]) -> bool | None:
    """Whether a chunk holds nulls alone; None where its statistics do not say."""
    nulls = chunk.get(STATISTICS, {}).get(NULL_COUNT)
    return None if nulls is None else bool(nulls == chunk[VALUES])


def read_chunk(file: BinaryIO, chunk: dict[int, Any], leaf: Leaf) -> list[Entry]:
    """Every entry of the chunk that is not null at the top.

    Raises:
        ValueError: it uses what this reader does not know.
    """
    size = chunk[COMPRESSED_SIZE]
    if size > LARGEST_CHUNK_BYTES:
        raise ValueError("the chunk is too large for this reader")
    file.seek(min(chunk.get(DICTIONARY_OFFSET) or chunk[DATA_OFFSET], chunk[DATA_OFFSET]))
    data = file.read(size)
    dictionary: list[Any] = []
    entries: list[Entry] = []
    at = 0
    while at < len(data):
        header, at = read_struct(data, at)
        body = data[at : at + header[_SIZE]]
        at += header[_SIZE]
        if header[_TYPE] == _DICTIONARY_PAGE:
            page = _plain_bytes(body, chunk[CODEC])
            dictionary = _plain_values(page, 0, header[_DICTIONARY][1], leaf.physical_type)
        else:
            entries += _entries(header, body, chunk[CODEC], leaf, dictionary)
    return entries


def _entries(
    header: dict[int, Any], body: bytes, codec: int, leaf: Leaf, dictionary: list[Any]
) -> Iterator[Entry]:
    count, encoding, definitions, values = _sections(header, body, codec, leaf)
    runs = [
        (level, length)
        for level, length in _runs(definitions, leaf.max_definition.bit_length(), count)
        if level
    ]
    wanted = sum(length for level, length in runs if level == leaf.max_definition)
    found: Iterator[Any]
    if encoding == _PLAIN:
        found = iter(_plain_values(values, 0, wanted, leaf.physical_type))
    elif encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        codes = _runs(values[1:], values[0], wanted) if wanted else iter(())
        found = (dictionary[code] for code, length in codes for _ in range(length))
    else:
        raise ValueError(f"encoding {encoding} is not for this reader")
    for level, length in runs:
        for _ in range(length):
            yield level, next(found) if level == leaf.max_definition else None


def _sections(
    header: dict[int, Any], body: bytes, codec: int, leaf: Leaf
) -> tuple[int, int, bytes, bytes]:
    """The number of values, their encoding, their definition levels, and themselves."""
    if header[_TYPE] == _DATA_PAGE_V2:
        page = header[_V2]
        repetition_size, definition_size = page[6], page[5]
        split = repetition_size + definition_size
        values = body[split:]
        if page.get(7, True):
            values = _plain_bytes(values, codec)
        return page[1], page[4], body[repetition_size:split], values
    if header[_TYPE] != _DATA_PAGE:
        raise ValueError(f"a page of type {header[_TYPE]} is not for this reader")
    page, plain = header[_V1], _plain_bytes(body, codec)
    at = _sized(plain, 0)[1] if leaf.max_repetition else 0
    definitions, at = _sized(plain, at)
    return page[1], page[2], definitions, plain[at:]


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(data[at : at + 4], "little")
    return data[at + 4 : end], end


def _runs(data: bytes, width: int, count: int) -> Iterator[tuple[int, int]]:
    """Parquet's mix of runs and bit-packed values, as values and how often each comes."""
    at = 0
    mask = (1 << width) - 1
    while count > 0:
        head = shift = 0
        while True:
            byte = data[at]
            at += 1
            head |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004  (the top bit says that more follows)
                break
        if head & 1:
            size = (head >> 1) * width
            packed = int.from_bytes(data[at : at + size], "little")
            for i in range(min((head >> 1) * 8, count)):
                yield (packed >> (i * width)) & mask, 1
            count -= (head >> 1) * 8
        else:
            size = (width + 7) // 8
            yield int.from_bytes(data[at : at + size], "little"), min(head >> 1, count)
            count -= head >> 1
        at += size


def _plain_bytes(body: bytes, codec: int) -> bytes:
    if codec == _UNCOMPRESSED:
        return body
    if codec == _SNAPPY:
        return decompress(body)
    if codec == _GZIP:
        return zlib.decompress(body, zlib.MAX_WBITS | 32)
    raise ValueError(f"codec {codec} is not for this reader")


def _plain_values(data: bytes, at: int, count: int, physical_type: int) -> list[Any]:
    values: list[Any] = []
    for _ in range(count):
        if physical_type == _BYTE_ARRAY:
            size = int.from_bytes(data[at : at + 4], "little")
            values.append(data[at + 4 : at + 4 + size].decode())
            at += 4 + size
        elif physical_type in (_INT32, _INT64):
            size = 4 if physical_type == _INT32 else 8
            values.append(int.from_bytes(data[at : at + size], "little", signed=True))
            at += size
        else:
            raise ValueError(f"physical type {physical_type} is not for this reader")
    return values
