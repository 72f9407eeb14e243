"""Decodes the values of one column chunk, each with its definition level.

Nearly all rows of a checkpoint are null in the columns read here, so levels are decoded run by
run, and only non-null entries are returned.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from headrace.engines.arrow.parquet.codec import Bytes, Codec
from headrace.engines.arrow.parquet.footer import LeafColumn
from headrace.engines.arrow.parquet.page import Page, plain_values, read_pages
from headrace.engines.arrow.parquet.run import decode_levels, decode_runs
from headrace.storage.byte_range import ByteRange

MAX_CHUNK_BYTES = 1 << 20

# Field ids of Parquet's metadata, where they are used.
CODEC, VALUES, COMPRESSED_SIZE, DATA_OFFSET, DICTIONARY_OFFSET, STATISTICS = 4, 5, 7, 9, 11, 12
NULL_COUNT = 3

Entry: TypeAlias = tuple[int, Any]
"""Definition level and value (None if the level is below the maximum)."""


def is_empty(chunk: dict[int, Any]) -> bool | None:
    """Return whether a chunk holds only nulls; None if its statistics do not say."""
    nulls = chunk.get(STATISTICS, {}).get(NULL_COUNT)
    return None if nulls is None else bool(nulls == chunk[VALUES])


def chunk_range(chunk: dict[int, Any]) -> ByteRange:
    """Return the byte range of the pages of a chunk.

    Raises:
        ValueError: the chunk is too large for this reader, or its offset is negative.
    """
    start = min(chunk.get(DICTIONARY_OFFSET) or chunk[DATA_OFFSET], chunk[DATA_OFFSET])
    if not 0 <= chunk[COMPRESSED_SIZE] <= MAX_CHUNK_BYTES or start < 0:
        raise ValueError("the chunk is too large for this reader")
    return ByteRange(start, chunk[COMPRESSED_SIZE])


def read_chunk(data: Bytes, chunk: dict[int, Any], column: LeafColumn) -> list[Entry]:
    """Decode the pages of a chunk, and return its entries that are not null at the top level.

    Raises:
        ValueError: it uses a feature that this reader does not support.
    """
    dictionary: list[Any] = []
    entries: list[Entry] = []
    count = 0
    decompress = Codec.numbered(chunk[CODEC]).decompress
    pages = read_pages(data, is_repeated=column.max_repetition > 0, decompress=decompress)
    for page in pages:
        if page.is_dictionary:
            dictionary = plain_values(page.values, page.count, column.physical_type)
        else:
            entries += _entries(page, column, dictionary)
            count += page.count
    if count != chunk[VALUES]:
        raise ValueError(f"the pages have {count} values, not {chunk[VALUES]}")
    return entries


def _entries(page: Page, column: LeafColumn, dictionary: list[Any]) -> Iterator[Entry]:
    levels = decode_levels(page.definitions, column.max_definition.bit_length(), page.count)
    if column.max_repetition:  # not needed, but they must be sound
        decode_levels(page.repetitions, column.max_repetition.bit_length(), page.count)
    runs = [(level, length) for level, length in levels if level]
    if any(level > column.max_definition for level, _ in runs):
        raise ValueError("a value is defined deeper than its column")
    value_count = sum(length for level, length in runs if level == column.max_definition)
    values: Iterator[Any]
    if page.is_coded:
        codes = (
            decode_runs(bytes(page.values[1:]), page.values[0], value_count)
            if value_count
            else iter(())
        )
        values = (dictionary[code] for code, length in codes for _ in range(length))
    else:
        values = iter(plain_values(page.values, value_count, column.physical_type))
    for level, length in runs:
        for _ in range(length):
            yield level, next(values) if level == column.max_definition else None
