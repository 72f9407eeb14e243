"""The distinct texts of a column chunk, from its dictionary page alone.

Partition values are nearly always dictionary-encoded. A few kilobytes then tell which values
a row group of a checkpoint has, where decoding the column would take megabytes.
"""

from typing import Any, BinaryIO

import pyarrow as pa

from headrace.engines.arrow.lite.thrift import read_struct

_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3
_DICTIONARY_ENCODINGS = (2, 8)
_HEADER_BYTES = 256
_LARGEST_DICTIONARY_BYTES = 4 << 20
_MOST_PAGES = 64

# Field ids of Parquet's page header.
_TYPE, _PLAIN_SIZE, _SIZE = 1, 2, 3
_DATA_HEADER, _DICTIONARY_HEADER, _DATA_HEADER_V2 = 5, 7, 8
_VALUES, _ENCODING, _ENCODING_V2 = 1, 2, 4


def distinct_texts(file: BinaryIO, chunk: Any) -> list[str] | None:
    """Every text that the chunk can hold; None where that is not to be had cheaply.

    `chunk` is the column chunk's metadata. Every data page must be dictionary-encoded: a writer
    that ran out of space falls back to plain pages, whose texts the dictionary lacks.
    """
    if not chunk.has_dictionary_page:
        return None
    try:
        return _read(file, chunk)
    except (ValueError, IndexError, KeyError, OSError, pa.ArrowException):
        return None


def _read(file: BinaryIO, chunk: Any) -> list[str] | None:
    at = min(chunk.dictionary_page_offset, chunk.data_page_offset)
    end = at + chunk.total_compressed_size
    texts: list[str] | None = None
    for _ in range(_MOST_PAGES):
        if at >= end:
            return texts
        file.seek(at)
        header, size = read_struct(file.read(_HEADER_BYTES))
        body = at + size
        match header[_TYPE]:
            case kind if kind == _DICTIONARY_PAGE and texts is None:
                if header[_PLAIN_SIZE] > _LARGEST_DICTIONARY_BYTES:
                    return None
                file.seek(body)
                page = _decompressed(file.read(header[_SIZE]), header[_PLAIN_SIZE], chunk)
                texts = _plain_texts(page, header[_DICTIONARY_HEADER][_VALUES])
            case kind if kind == _DATA_PAGE:
                if header[_DATA_HEADER][_ENCODING] not in _DICTIONARY_ENCODINGS:
                    return None
            case kind if kind == _DATA_PAGE_V2:
                if header[_DATA_HEADER_V2][_ENCODING_V2] not in _DICTIONARY_ENCODINGS:
                    return None
            case _:
                return None
        at = body + header[_SIZE]
    return None


def _decompressed(page: bytes, plain_size: int, chunk: Any) -> bytes:
    if chunk.compression == "UNCOMPRESSED":
        return page
    return bytes(pa.Codec(chunk.compression.lower()).decompress(page, plain_size, asbytes=True))


def _plain_texts(page: bytes, count: int) -> list[str]:
    texts, at = [], 0
    for _ in range(count):
        size = int.from_bytes(page[at : at + 4], "little")
        texts.append(page[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return texts
