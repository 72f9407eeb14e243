"""Decodes the footer of a Parquet file: its leaf columns, and the location of their chunks.

Row groups are not decoded: the chunks of few columns are found by the bytes of their names.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from headrace.engines.arrow.parquet.thrift import list_of_texts, read_list_head, read_struct
from headrace.storage.byte_range import ByteRange

MAGIC = b"PAR1"
_MAX_FOOTER_BYTES = 16 << 20
_REQUIRED, _REPEATED = 0, 2

# Field ids of Parquet's metadata, where they are used.
_SCHEMA, _ROWS, _ROW_GROUPS = 2, 3, 4
_ELEMENT_TYPE, _ELEMENT_REPETITION, _ELEMENT_NAME, _ELEMENT_CHILDREN = 1, 3, 4, 5
_ELEMENT_CONVERTED = 6
_MAP, _LIST = 1, 3
_CHUNK_PATH = 3


class Source(Protocol):
    """The bytes of a Parquet file."""

    def tail(self) -> tuple[bytes, int]:
        """Return bytes from the end of the file, and its size."""

    def ranges(self, ranges: Sequence[ByteRange]) -> Sequence[memoryview]:
        """Return the bytes of ranges, read together."""

    def learn(self, footer_bytes: int, *, file_bytes: int) -> None:
        """Learn the size of the footer, so that the next tail includes all of it."""


class LeafColumn(msgspec.Struct, frozen=True):
    """A leaf column: its path, its physical type, and its maximum levels."""

    path: tuple[str, ...]
    physical_type: int
    definitions: tuple[int, ...]
    """The lowest definition level at which each part of the path is present."""
    max_repetition: int

    @property
    def max_definition(self) -> int:
        """The definition level of a non-null value."""
        return self.definitions[-1]


class LiteFooter(msgspec.Struct, frozen=True):
    """A footer with only the schema decoded.

    A large checkpoint has thousands of column chunks, and only a few are needed. Each contains
    its path, so it is found by searching for the encoded path.
    """

    leaf_columns: list[LeafColumn]
    rows: int
    group_count: int
    _row_groups: bytes

    def places(self, column: LeafColumn) -> list[int]:
        """Return the position of a column's chunk metadata in each row group.

        Raises:
            ValueError: the path does not occur once in each row group.
        """
        return self._places(column, 0, len(self._row_groups), count=self.group_count)

    def place_near(
        self, column: LeafColumn, known: LeafColumn, places: list[int], group: int
    ) -> int:
        """Return the same for one row group, given the positions of another leaf column.

        The chunks of a group are in schema order, so this one is between the known one and that of
        the group before or after. Nothing else of a large footer is searched.
        """
        if column == known:
            return places[group]
        bounds = [0, *places, len(self._row_groups)]
        first = group + (self.leaf_columns.index(column) > self.leaf_columns.index(known))
        return self._places(column, bounds[first], bounds[first + 1], count=1)[0]

    def _places(self, column: LeafColumn, start: int, end: int, *, count: int) -> list[int]:
        name = list_of_texts(column.path)
        places = []
        at = self._row_groups.find(name, start, end)
        while at >= 0:
            at += len(name)
            places.append(at)
            at = self._row_groups.find(name, at, end)
        if len(places) != count:
            raise ValueError(f"{column.path} occurs {len(places)} times, not {count}")
        return places

    def chunk_at(self, place: int) -> dict[int, Any]:
        """Decode the chunk metadata at a position: the fields that follow the path."""
        return read_struct(self._row_groups, place, after=_CHUNK_PATH)[0]


def read_footer(source: Source) -> LiteFooter:
    """Read and decode the footer.

    Raises:
        ValueError: this is not a Parquet file, or its footer is too large for this reader.
    """
    tail, size_bytes = source.tail()
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != MAGIC or length > min(_MAX_FOOTER_BYTES, size_bytes - 8):
        raise ValueError("there is no footer that this reader supports")
    source.learn(length + 8, file_bytes=size_bytes)
    missing = length + 8 - len(tail)
    if missing > 0:
        (before,) = source.ranges([ByteRange(size_bytes - length - 8, missing)])
        tail = b"".join((before, tail))
    footer = tail[-8 - length : -8]
    fields, at = read_struct(footer, until=_ROW_GROUPS)
    group_count, _, at = read_list_head(footer, at)
    return LiteFooter(_leaf_columns(fields[_SCHEMA]), fields[_ROWS], group_count, footer[at:])


def _leaf_columns(elements: list[dict[int, Any]]) -> list[LeafColumn]:
    """Walk the schema, a flat depth-first list, and return its leaf columns."""
    leaf_columns: list[LeafColumn] = []
    position = 1

    def walk(
        children: int, path: tuple[str, ...], definitions: tuple[int, ...], repetition: int
    ) -> None:
        nonlocal position
        for _ in range(children):
            element = elements[position]
            position += 1
            kind = element.get(_ELEMENT_REPETITION, _REQUIRED)
            within = elements[position] if element.get(_ELEMENT_CHILDREN) else {}
            is_container = element.get(_ELEMENT_CONVERTED) in (_MAP, _LIST)
            if is_container and within.get(_ELEMENT_REPETITION) != _REPEATED:
                raise ValueError("a list or map without a repeated group")
            above = definitions[-1] if definitions else 0
            below = (
                (*path, element[_ELEMENT_NAME].decode()),
                (*definitions, above + (kind != _REQUIRED)),
                repetition + (kind == _REPEATED),
            )
            if element.get(_ELEMENT_CHILDREN):
                walk(element[_ELEMENT_CHILDREN], *below)
            else:
                leaf_columns.append(LeafColumn(below[0], element[_ELEMENT_TYPE], *below[1:]))

    walk(elements[0][_ELEMENT_CHILDREN], (), (), 0)
    if position != len(elements):
        raise ValueError("the schema has columns without a parent")
    return leaf_columns
