"""Partition values of a row group, taken from its pages as codes.

Arrow would build a map for each row before anything can be said about one. Where all rows have
the same keys in the same order, as writers make them, the codes of the value pages are all
there is to know: a fifth of the time, and a few hundred kilobytes.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.engines.arrow.footer import Footer
from headrace.engines.arrow.hybrid import is_repeated, unpack
from headrace.engines.arrow.lite.page import (
    BYTE_ARRAY,
    Page,
    are_all_coded,
    plain_values,
    read_pages,
)

_LARGEST_KEYS_BYTES = 64 << 10
_LARGEST_VALUES_BYTES = 8 << 20
_MOST_TEXTS = 1 << 16
_MOST_IN_A_PAGE = 1 << 24
_UNUSUAL = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    StopIteration,
    RecursionError,
    OSError,
    pa.ArrowException,
)


class CodedMaps(msgspec.Struct, frozen=True):
    """The maps of a row group, each with these names in this order."""

    rows: int
    names: tuple[str, ...]
    texts: list[str]
    """What the codes stand for: every text that occurs is among them."""
    _pages: Iterator[Page]
    _definition_level: int

    def codes(self) -> Iterator[npt.NDArray[Any]]:
        """A row for each map with a code for each of its values, page by page, once.

        Raises:
            ValueError: some values are null or not coded, or a page ends within a map.
        """
        try:
            for page in self._pages:
                codes = _codes(page, self._definition_level)
                if int(codes.max(initial=0)) >= len(self.texts):
                    raise ValueError("a code stands for nothing")
                yield codes.reshape(-1, len(self.names))
        except _UNUSUAL as error:
            raise ValueError(str(error)) from error


class MapChunks(msgspec.Struct, frozen=True):
    """The two column chunks of a map column in one row group, all of whose rows have a map."""

    rows: int
    keys: Any
    values: Any
    definition_levels: tuple[int, int]
    """Those of a key and of a value that are there."""

    @classmethod
    def of(cls, footer: Footer, group: int, column: str) -> "MapChunks | None":
        """The chunks of a column, where they are worth a look."""
        leaves = footer.leaves((column,))
        if [leaf.rpartition(".")[2] for leaf in leaves] != ["key", "value"]:
            return None
        keys, values = (
            footer.metadata.row_group(group).column(footer.positions[x]) for x in leaves
        )
        rows = footer.rows(group)
        if keys.num_values != values.num_values or not rows or keys.num_values % rows:
            return None
        key_level, value_level = map(footer.depth, leaves)
        return cls(rows, keys, values, (key_level, value_level))

    def read(self, file: BinaryIO) -> CodedMaps | None:
        """The maps; None where they are not to be had in this way."""
        key_level, value_level = self.definition_levels
        try:
            keys = _read(file, self.keys, _LARGEST_KEYS_BYTES)
            names = _names(keys, self.keys.compression, key_level, self.rows)
            values = _read(file, self.values, _LARGEST_VALUES_BYTES)
            if not are_all_coded(values):
                return None  # the dictionary does not have all texts
            pages = _pages(values, self.values.compression)
            texts = _texts(next(pages))
        except _UNUSUAL:
            return None
        return None if names is None else CodedMaps(self.rows, names, texts, pages, value_level)


@lru_cache(maxsize=8)
def _names(
    data: bytes, compression: str, definition_level: int, rows: int
) -> tuple[str, ...] | None:
    """The keys of each map, where all maps have the same ones in the same order.

    A few bytes, the same ones for most row groups: so what they say is remembered.
    """
    dictionary, *pages = _pages(data, compression)
    codes = np.concatenate([_codes(page, definition_level) for page in pages]).reshape(rows, -1)
    levels = [unpack(page.repetitions, 1, page.count) for page in pages]
    begins = np.concatenate(levels).reshape(rows, -1) == 0
    if not begins[:, 0].all() or begins[:, 1:].any() or (codes != codes[0]).any():
        return None
    texts = _texts(dictionary)
    return tuple(texts[code] for code in codes[0].tolist())


def _read(file: BinaryIO, chunk: Any, most_bytes: int) -> bytes:
    if not chunk.has_dictionary_page or chunk.total_compressed_size > most_bytes:
        raise ValueError("the chunk is not coded, or large")
    file.seek(min(chunk.dictionary_page_offset, chunk.data_page_offset))
    return file.read(chunk.total_compressed_size)


def _pages(data: bytes, compression: str) -> Iterator[Page]:
    if compression == "UNCOMPRESSED":
        return read_pages(data, is_repeated=True, decompress=lambda body, _: body)
    codec = pa.Codec(compression.lower())
    return read_pages(
        data,
        is_repeated=True,
        decompress=lambda body, size: codec.decompress(body, size, asbytes=True),
    )


def _texts(page: Page) -> list[str]:
    if not page.is_dictionary or page.count > _MOST_TEXTS:
        raise ValueError("there is no dictionary, or a large one")
    return plain_values(page.values, page.count, BYTE_ARRAY)


def _codes(page: Page, definition_level: int) -> npt.NDArray[Any]:
    bits = definition_level.bit_length()
    if page.count > _MOST_IN_A_PAGE:
        raise ValueError("the page is too large for this reader")
    if not page.is_coded or not is_repeated(page.definitions, bits, definition_level, page.count):
        raise ValueError("some are null, or not coded")
    return unpack(page.values[1:], page.values[0], page.count)
