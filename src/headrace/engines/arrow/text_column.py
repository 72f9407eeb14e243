"""A column of texts of a row group, decoded by a compiled loop: paths and statistics.

They are most of what a checkpoint holds. Arrow's own reader knows every encoding and takes half as
long again for the two usual ones.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.memory import Memory
from headrace.compiled.texts import PageTexts, Present, TextBuilder
from headrace.engines.arrow.hybrid import is_repeated, unpack
from headrace.engines.arrow.lite.codec import Codec
from headrace.engines.arrow.lite.page import Page
from headrace.engines.arrow.page_stream import PageStream

_SPARE = 1.1
"""Room for rows that are longer than the average one."""
_MOST_EXPECTED_BYTES = 1 << 26
"""A footer may say anything; more is made room for when it comes."""
_MOST_IN_A_PAGE = 1 << 24
_MOST_WORDS = 1 << 16


class Texts(msgspec.Struct, frozen=True):
    """The texts of some rows, and how deep each row is defined."""

    values: pa.StringArray
    levels: npt.NDArray[np.uint8]


class _Part(msgspec.Struct):
    """What is left of a page."""

    texts: PageTexts
    levels: npt.NDArray[np.uint8]


class TextColumn:
    """Gives the rows of one column chunk in order."""

    def __init__(self, file: BinaryIO, chunk: Any, *, depth: int, memory: Memory) -> None:
        """Take the metadata of the chunk, and the level at which a text is there."""
        start = chunk.data_page_offset
        if chunk.has_dictionary_page:
            start = min(start, chunk.dictionary_page_offset)
        size, codec = chunk.total_compressed_size, Codec(chunk.compression)
        pages = PageStream(file, start=start, size=size, codec=codec, memory=memory)
        # No method: what refers to itself lives on until somebody looks for such things.
        self._parts = _parts(pages, depth, memory)
        self._part: _Part | None = None
        self._depth = depth
        self._memory = memory
        self._row_bytes = chunk.total_uncompressed_size / max(chunk.num_values, 1) * _SPARE

    def take(self, rows: int) -> Texts:
        """The next rows.

        Raises:
            ValueError: there are fewer, or they are written in a way that is not known here.
            IndexError: the same.
        """
        expected = min(int(rows * self._row_bytes), _MOST_EXPECTED_BYTES)
        builder = TextBuilder(rows, expected_bytes=expected, memory=self._memory)
        taken: list[npt.NDArray[np.uint8]] = []
        while rows:
            part = self._part or next(self._parts, None)
            if part is None:
                raise ValueError("the column ends too early")
            levels, part.levels = part.levels[:rows], part.levels[rows:]
            builder.append(part.texts, len(levels))
            taken.append(levels)
            rows -= len(levels)
            self._part = part if len(part.levels) else None
        levels = np.concatenate(taken) if taken else np.empty(0, np.uint8)
        return Texts(builder.finish(_present(levels, self._depth)), levels)


def _parts(pages: PageStream, depth: int, memory: Memory) -> Iterator[_Part]:
    words = pa.array([], pa.string())
    for page in pages:
        if page.is_dictionary:
            words = _words(page, memory)
            continue
        levels = _levels(page, depth)
        present = _present(levels, depth)
        if page.is_coded:
            count = page.count if present is None else int(np.count_nonzero(present))
            yield _Part(PageTexts.coded(_codes(page, count), words, present), levels)
        else:
            yield _Part(PageTexts.plain(memoryview(page.values), present), levels)


def _levels(page: Page, depth: int) -> npt.NDArray[np.uint8]:
    if page.count > _MOST_IN_A_PAGE:
        raise ValueError("the page is too large for this reader")
    bits = depth.bit_length()
    if is_repeated(page.definitions, bits, depth, page.count):
        return np.full(page.count, depth, dtype=np.uint8)
    levels: npt.NDArray[np.uint8] = unpack(page.definitions, bits, page.count)
    if (levels > depth).any():
        raise ValueError("a row is deeper than its column")
    return levels


def _present(levels: npt.NDArray[np.uint8], depth: int) -> Present:
    present = levels == depth
    return None if present.all() else present


def _words(page: Page, memory: Memory) -> pa.StringArray:
    if not 0 <= page.count <= _MOST_WORDS:
        raise ValueError("the dictionary is too large for this reader")
    builder = TextBuilder(page.count, expected_bytes=len(page.values), memory=memory)
    builder.append(PageTexts.plain(memoryview(page.values), None), page.count)
    return builder.finish(None)


def _codes(page: Page, count: int) -> npt.NDArray[np.uint16]:
    if not count:
        return np.empty(0, dtype=np.uint16)
    codes = unpack(bytes(page.values[1:]), page.values[0], count)
    return codes.astype(np.uint16, copy=False)
