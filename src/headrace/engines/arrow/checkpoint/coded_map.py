"""Reads the partition values of a row group as dictionary codes, directly from its pages.

Arrow would build a map for each row before any of them can be evaluated. Writers usually produce
maps that all have the same keys in the same order; then the codes of the value pages are enough.
This takes a fifth of the time, and a few hundred kilobytes.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.compiled.codes import judge_maps
from headrace.compiled.memory import Block, Memory
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.rle import is_repeated, unpack
from headrace.engines.arrow.parquet.codec import Bytes, Codec
from headrace.engines.arrow.parquet.page import (
    BYTE_ARRAY,
    Page,
    are_all_coded,
    first_page,
    plain_values,
    read_pages,
)
from headrace.storage.byte_range import ByteRange
from headrace.storage.ranged import read_into

_MAX_KEYS_BYTES = 256 << 10
_MAX_VALUES_BYTES = 8 << 20
_MAX_TEXTS = 1 << 16
_MAX_IN_A_PAGE = 1 << 24
_UNUSUAL = (
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    StopIteration,
    RecursionError,
    OSError,
    pa.ArrowException,
)


class MapKeys(msgspec.Struct, frozen=True):
    """The keys of the maps of a row group: which rows have a map, and its names in order."""

    names: tuple[str, ...]
    present: npt.NDArray[np.bool_]
    count: int
    """The number of rows that have a map."""


class CodedMaps(msgspec.Struct, frozen=True):
    """The maps of a row group without their codes, which are the bulk of the data."""

    keys: MapKeys
    texts: list[str]
    """The dictionary: the string of each code."""
    codec: Codec
    definition_level: int
    """The definition level of a non-null value."""
    start: int
    size: int
    """The offset and size of the code pages in the file."""

    def pages(self, file: BinaryIO, memory: Memory) -> "MapPages":
        """Read the pages into memory that is reused once they are released.

        Raises:
            IndexError: the file ends too early.
        """
        block = memory.block(self.size)
        content = block.bytes[: self.size].data
        file.seek(self.start)
        read_into(file, content)
        return MapPages(self, content, block)


class MapPages(msgspec.Struct, frozen=True):
    """The codes of the values of some maps."""

    maps: CodedMaps
    data: Bytes
    _memory: Block | None = None
    """Keeps the buffer of `data` alive."""

    def judged(self, verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_] | None:
        """Return whether each map may match, by the verdict on each code; None: use `codes`."""
        codec = self.maps.codec.name
        if codec not in ("SNAPPY", "UNCOMPRESSED"):
            return None
        return judge_maps(
            self.data,
            verdicts,
            maps=self.maps.keys.count,
            level=self.maps.definition_level,
            is_snappy=codec == "SNAPPY",
        )

    def have_no_other_texts(self) -> bool:
        """Return whether every string that occurs has a code."""
        try:
            return are_all_coded(self.data)
        except _UNUSUAL:
            return False

    def codes(self) -> Iterator["PageCodes"]:
        """Yield the codes of each page.

        Raises:
            ValueError: some values are null or not coded.
        """
        try:
            for page in _pages(self.data, self.maps.codec):
                yield PageCodes.of(page, _count(page, self.maps.definition_level))
        except _UNUSUAL as error:
            raise ValueError(str(error)) from error

    def mask_of_rows(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Convert a mask of maps into a mask of rows; rows without a map are false."""
        keys = self.maps.keys
        if keys.count == len(keys.present):
            return mask
        rows = np.zeros(len(keys.present), dtype=np.bool_)
        rows[keys.present] = mask
        return rows


class PageCodes(msgspec.Struct, frozen=True):
    """The bit-packed codes of the values of a page."""

    bits: int
    """The number of bits per code."""
    count: int
    _data: bytes

    @classmethod
    def of(cls, page: Page, count: int) -> "PageCodes":
        """Return the codes of a page with `count` values; ValueError if it is not coded."""
        if not page.is_coded:
            raise ValueError("not every page is coded")
        return cls(page.values[0] if count else 0, count, bytes(page.values[1:]))

    def rows(self, width: int) -> npt.NDArray[Any]:
        """Return one row of codes per map, each with `width` values.

        Raises:
            ValueError: the page ends within a map.
        """
        try:
            return unpack(self._data, self.bits, self.count).reshape(-1, width)
        except _UNUSUAL as error:
            raise ValueError(str(error)) from error


class MapChunks(msgspec.Struct, frozen=True):
    """The two column chunks of a map column in one row group."""

    rows: int
    keys: Any
    values: Any
    definition_levels: tuple[int, int]
    """The definition levels of a non-null key and of a non-null value."""

    @classmethod
    def of(cls, footer: Footer, group: int, column: str) -> "MapChunks | None":
        """Return the chunks of a column, or None if it is not a map of keys to values."""
        leaf_columns = footer.leaf_columns((column,))
        if [leaf_column.rpartition(".")[2] for leaf_column in leaf_columns] != ["key", "value"]:
            return None
        keys, values = (footer.chunk(group, leaf_column) for leaf_column in leaf_columns)
        key_level, value_level = map(footer.depth, leaf_columns)
        return cls(footer.rows(group), keys, values, (key_level, value_level))

    def read(self, file: BinaryIO) -> CodedMaps | None:
        """Read the maps; None if they cannot be read as codes."""
        key_level, value_level = self.definition_levels
        try:
            keys, head = self._read_heads(file)
            codec = Codec(self.values.compression)
            first, size = first_page(head, is_repeated=True, decompress=codec.decompress)
            if size > len(head):
                raise ValueError("the dictionary page is larger than its space")
            return CodedMaps(
                _map_keys(keys, Codec(self.keys.compression), key_level, self.rows),
                _texts(first),
                codec,
                value_level,
                _start(self.values) + size,
                self.values.total_compressed_size - size,
            )
        except _UNUSUAL:
            return None

    def head_ranges(self) -> list[ByteRange]:
        """Return what `read` reads: the chunk of the keys, and the dictionary of the values.

        Empty if the maps cannot be read as codes.
        """
        try:
            _check_chunk(self.keys, _MAX_KEYS_BYTES)
            _check_chunk(self.values, _MAX_VALUES_BYTES)
            keys_start, values_start = _start(self.keys), _start(self.values)
            size = min(
                self.values.data_page_offset - values_start, self.values.total_compressed_size
            )
            if min(keys_start, values_start, size) < 0:
                raise ValueError("the chunk has a negative offset or size")
        except _UNUSUAL:
            return []
        return [
            ByteRange(keys_start, self.keys.total_compressed_size),
            ByteRange(values_start, size),
        ]

    def _read_heads(self, file: BinaryIO) -> tuple[bytes, bytes]:
        keys, values = self.head_ranges()
        file.seek(keys.start)
        if values.start == keys.stop:  # the usual case
            both = bytes(file.read(keys.length + values.length))
            return both[: keys.length], both[keys.length :]
        content = bytes(file.read(keys.length))
        file.seek(values.start)
        return content, bytes(file.read(values.length))


@lru_cache(maxsize=8)
def _map_keys(data: bytes, codec: Codec, definition_level: int, rows: int) -> MapKeys:
    """Decode the keys of maps that all have the same keys in the same order.

    The data is a few kilobytes and the same for most row groups, so the result is cached.

    Raises:
        ValueError: the maps differ, or there are none.
    """
    dictionary, *pages = _pages(data, codec)
    entries = [_present(page, definition_level) for page in pages]
    codes = np.concatenate(
        [
            PageCodes.of(page, int(np.count_nonzero(is_entry))).rows(1).ravel()
            for page, is_entry in zip(pages, entries, strict=True)
        ]
    )
    begins = np.concatenate([unpack(page.repetitions, 1, page.count) for page in pages]) == 0
    is_present = np.concatenate(entries)
    if int(np.count_nonzero(begins)) != rows or not (begins | is_present).all():
        raise ValueError("an entry belongs to no row")
    present = np.ones(rows, np.bool_) if len(codes) == len(is_present) else is_present[begins]
    count = int(np.count_nonzero(present))
    width, remainder = divmod(len(codes), count) if count else (0, 0)
    first = begins if len(codes) == len(begins) else begins[is_present]
    if not width or remainder or not _repeat(codes, width) or not _repeat(first, width):
        raise ValueError("the maps differ")
    if not first[0] or first[1:width].any():
        raise ValueError("the maps do not begin where rows do")
    texts = _texts(dictionary)
    return MapKeys(tuple(texts[code] for code in codes[:width].tolist()), present, count)


def _repeat(numbers: npt.NDArray[Any], width: int) -> bool:
    """Return whether the first `width` numbers repeat to the end."""
    return bool((numbers[width:] == numbers[:-width]).all())


def _check_chunk(chunk: Any, most_bytes: int) -> None:
    if not chunk.has_dictionary_page or not 0 <= chunk.total_compressed_size <= most_bytes:
        raise ValueError("the chunk is not coded, or large")


def _start(chunk: Any) -> int:
    start: int = min(chunk.dictionary_page_offset, chunk.data_page_offset)
    return start


def _pages(data: Bytes, codec: Codec) -> Iterator[Page]:
    return read_pages(data, is_repeated=True, decompress=codec.decompress)


def _texts(page: Page) -> list[str]:
    if not page.is_dictionary or page.count > _MAX_TEXTS:
        raise ValueError("there is no dictionary, or a large one")
    return plain_values(page.values, page.count, BYTE_ARRAY)


def _check_size(page: Page) -> None:
    if page.count > _MAX_IN_A_PAGE:
        raise ValueError("the page is too large for this reader")


def _present(page: Page, definition_level: int) -> npt.NDArray[np.bool_]:
    """Return which entries of a page are present; the others must be rows without a map."""
    _check_size(page)
    bits = definition_level.bit_length()
    if is_repeated(page.definitions, bits, definition_level, page.count):
        return np.ones(page.count, dtype=np.bool_)
    levels = unpack(page.definitions, bits, page.count)
    present: npt.NDArray[np.bool_] = levels == definition_level
    if levels[~present].any():
        raise ValueError("a map, or a value, is null or empty")
    return present


def _count(page: Page, definition_level: int) -> int:
    """Return the number of present entries of a page: usually all of them."""
    _check_size(page)
    if is_repeated(page.definitions, definition_level.bit_length(), definition_level, page.count):
        return page.count
    return int(np.count_nonzero(_present(page, definition_level)))
