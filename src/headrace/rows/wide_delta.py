"""Detects differences of 32-bit integers stored with more than 32 bits.

In Parquet's encoding DELTA_BINARY_PACKED, differences of 32-bit integers wrap around. DuckDB
computes them with 64 bits. Some readers accept such pages; Arrow reports an early end of data. This
module distinguishes them from damaged pages by the bit widths in the page.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.parquet.page import body_size
from headrace.engines.arrow.parquet.thrift import read_struct
from headrace.engines.arrow.parquet.varint import read_varint

WIDE_DIFFERENCES = "it has differences of 32-bit integers with more than 32 bits"
_ENCODING_NAME, _ENCODING = "DELTA_BINARY_PACKED", 5
_BITS = 32
_CODECS = {"LZ4": "lz4_raw"}
"""Arrow's names of codecs that have another name in Parquet."""

# Field ids of Parquet's page header.
_PLAIN_SIZE, _V1, _V2 = 2, 5, 8
_ENCODING_V1, _ENCODING_V2 = 2, 4
_DEFINITION_SIZE, _REPETITION_SIZE, _IS_COMPRESSED = 5, 6, 7


def has_wide_differences(source: Any, parquet: pq.ParquetFile, leaf_column: int) -> bool:
    """Whether a leaf column of an open file has a page with wide differences."""
    level = parquet.schema.column(leaf_column)
    for group in range(parquet.metadata.num_row_groups):
        chunk = parquet.metadata.row_group(group).column(leaf_column)
        if chunk.physical_type != "INT32" or _ENCODING_NAME not in chunk.encodings:
            continue
        source.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        stored = source.read(chunk.total_compressed_size)
        try:
            if any(map(_is_wide, _encoded(stored, chunk.compression, level))):
                return True
        except (ValueError, IndexError, KeyError, pa.ArrowException, OSError):
            continue  # a page that cannot be decoded proves nothing
    return False


def _encoded(stored: bytes, compression: str, level: pq.ColumnSchema) -> Iterator[bytes]:
    """Yield the values of each page with this encoding."""
    at = 0
    while at < len(stored):
        header, at = read_struct(stored, at)
        body = stored[at : at + body_size(header)]
        at += len(body)
        size = header[_PLAIN_SIZE]
        if _V1 in header and header[_V1][_ENCODING_V1] == _ENCODING:
            page = _decompressed(body, size, compression)
            for most in (level.max_repetition_level, level.max_definition_level):
                if most:
                    page = page[4 + int.from_bytes(page[:4], "little") :]
            yield page
        elif _V2 in header and header[_V2][_ENCODING_V2] == _ENCODING:
            head = header[_V2]
            start = head[_REPETITION_SIZE] + head[_DEFINITION_SIZE]
            if head.get(_IS_COMPRESSED, True):
                yield _decompressed(body[start:], size - start, compression)
            else:
                yield body[start:]


def _decompressed(body: bytes, size: int, compression: str) -> bytes:
    if compression == "UNCOMPRESSED":
        return body
    codec = pa.Codec(_CODECS.get(compression, compression.lower()))
    plain: bytes = codec.decompress(body, size, asbytes=True)
    return plain


def _is_wide(page: bytes) -> bool:
    """Whether the least difference of a block, or the width of a part of it, exceeds 32 bits."""
    block, at = read_varint(page, 0)
    parts, at = read_varint(page, at)
    count, at = read_varint(page, at)
    _, at = read_varint(page, at)
    for _ in range(1, count, block):
        least, at = read_varint(page, at)
        widths = page[at : at + parts]
        if least >> _BITS or any(width > _BITS for width in widths):
            return True
        at += parts + sum(widths) * (block // parts) // 8
    return False
