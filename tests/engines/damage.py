"""Damage Parquet files: false numbers in a footer, and flipped bits in pages."""

from collections import defaultdict
from io import BytesIO
from typing import Any

import pyarrow.parquet as pq

from headrace.engines.arrow.parquet.page import body_size
from headrace.engines.arrow.parquet.thrift import read_struct


class Damaged:
    """Chunk metadata in which one number is replaced."""

    def __init__(self, chunk: Any, name: str, number: int) -> None:
        self._chunk, self._name, self._number = chunk, name, number

    def __getattr__(self, name: str) -> Any:
        return self._number if name == self._name else getattr(self._chunk, name)


def page_bodies(content: bytes) -> dict[str, list[range]]:
    """Return the byte ranges of all page bodies in a Parquet file, by leaf column."""
    footer = pq.read_metadata(BytesIO(content))
    bodies: dict[str, list[range]] = defaultdict(list)
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            end = at + chunk.total_compressed_size
            while at < end:
                header, start = read_struct(content, at)
                at = start + body_size(header)
                if at > start:  # an empty dictionary has no bytes
                    bodies[chunk.path_in_schema].append(range(start, at))
    return bodies


def flipped(content: bytes, place: int) -> bytes:
    """Return the content with one bit flipped in one byte; the bit depends on the position."""
    damaged = bytearray(content)
    damaged[place] ^= 1 << place % 8
    return bytes(damaged)
