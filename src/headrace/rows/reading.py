"""Converts a column of a file to the table's column.

A file may lack columns or struct members, have additional ones, have them in another order, under
physical names or ids, and in narrower types. A `Reading` names the leaf columns it needs and
converts them. Nested types are converted part by part, never row by row.
"""

from typing import TypeAlias

import msgspec
import pyarrow as pa

from headrace.rows.convert import Convert
from headrace.rows.plain import as_lists, list_offsets, storage_array
from headrace.rows.shredded import ReadShredded


class ReadLeafColumn(msgspec.Struct, frozen=True):
    """A primitive column."""

    leaf_column: int
    source: pa.DataType
    convert: Convert

    @property
    def leaf_columns(self) -> frozenset[int]:
        """The column itself."""
        return frozenset((self.leaf_column,))

    def read(self, array: pa.Array) -> pa.Array:
        """Return the values in the table's type."""
        return self.convert(array)


class Member(msgspec.Struct, frozen=True):
    """A member of a struct: its name in the file, and how it is read; None if it is missing."""

    field: pa.Field
    source_name: str
    reading: "Reading | None"

    def read(self, parent: pa.StructArray) -> pa.Array:
        """Return the member's values, regardless of whether its parent is null."""
        if self.reading is None:
            return pa.nulls(len(parent), self.field.type)
        return self.reading.read(parent.field(self.source_name))


class ReadStruct(msgspec.Struct, frozen=True):
    """A struct, member by member."""

    type: pa.StructType
    members: tuple[Member, ...]
    witness: int
    """A leaf column to read for the struct's nulls if the file has none of the members."""

    @property
    def leaf_columns(self) -> frozenset[int]:
        """The leaf columns of its members."""
        leaf_columns = frozenset[int]().union(
            *(member.reading.leaf_columns for member in self.members if member.reading)
        )
        return leaf_columns or frozenset((self.witness,))

    def read(self, array: pa.StructArray) -> pa.StructArray:
        """Return the struct with the table's members, null where the file's is null."""
        array = storage_array(array)
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(
            [member.read(array) for member in self.members],
            fields=[member.field for member in self.members],
            mask=mask,
        )


class ReadList(msgspec.Struct, frozen=True):
    """A list, by its elements."""

    type: pa.ListType
    element: "Reading"

    @property
    def leaf_columns(self) -> frozenset[int]:
        """The leaf columns of its elements."""
        return self.element.leaf_columns

    def read(self, array: pa.Array) -> pa.ListArray:
        """Return the lists with converted elements."""
        array = storage_array(array)
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(
            list_offsets(array), self.element.read(array.flatten()), type=self.type, mask=mask
        )


class ReadMap(msgspec.Struct, frozen=True):
    """A map, by its keys and its values."""

    type: pa.MapType
    key: "Reading"
    value: "Reading"

    @property
    def leaf_columns(self) -> frozenset[int]:
        """The leaf columns of keys and values."""
        return self.key.leaf_columns | self.value.leaf_columns

    def read(self, array: pa.MapArray) -> pa.MapArray:
        """Return the maps with converted keys and values."""
        array = storage_array(array)
        lists = as_lists(array)
        entries = lists.flatten()
        return pa.MapArray.from_arrays(
            list_offsets(lists),
            self.key.read(entries.field(0)),
            self.value.read(entries.field(1)),
            type=self.type,
            mask=array.is_null() if array.null_count else None,
        )


Reading: TypeAlias = ReadLeafColumn | ReadStruct | ReadList | ReadMap | ReadShredded
"""Each has `leaf_columns`, the numbers of the leaf columns it needs, and `read`, which converts the
file's column to the table's and raises `pa.ArrowInvalid` if a value does not fit."""
