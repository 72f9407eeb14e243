"""How one column of the table is read from one file.

A file may lack columns and members of structs, have others, have them in another order, under
physical names or ids, and in narrower types. A `Reading` says which leaves of the file it takes
and makes the table's column of them; nested types are taken apart and put together again, by
column, never by row.
"""

from typing import TypeAlias

import msgspec
import pyarrow as pa

from headrace.rows.convert import Convert
from headrace.rows.plain import as_lists, list_offsets
from headrace.rows.shredded import ReadShredded


class ReadLeaf(msgspec.Struct, frozen=True):
    """A column without parts."""

    leaf: int
    source: pa.DataType
    convert: Convert

    @property
    def leaves(self) -> frozenset[int]:
        """The one."""
        return frozenset((self.leaf,))

    def read(self, array: pa.Array) -> pa.Array:
        """The values in the table's type."""
        return self.convert(array)


class Member(msgspec.Struct, frozen=True):
    """A member of a struct: where it is in the file, if it is, and how it is read."""

    field: pa.Field
    source_name: str
    reading: "Reading | None"

    def read(self, parent: pa.StructArray) -> pa.Array:
        """The member alone; whether its parent is null is not its business."""
        if self.reading is None:
            return pa.nulls(len(parent), self.field.type)
        return self.reading.read(parent.field(self.source_name))


class ReadStruct(msgspec.Struct, frozen=True):
    """A struct, member by member."""

    type: pa.StructType
    members: tuple[Member, ...]
    witness: int
    """A leaf that tells which structs are null, where no member is there to do so."""

    @property
    def leaves(self) -> frozenset[int]:
        """Those of its members."""
        found = frozenset[int]().union(
            *(member.reading.leaves for member in self.members if member.reading)
        )
        return found or frozenset((self.witness,))

    def read(self, array: pa.StructArray) -> pa.StructArray:
        """The struct with the table's members, null where the file's is."""
        array = _storage(array)
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
    def leaves(self) -> frozenset[int]:
        """Those of its elements."""
        return self.element.leaves

    def read(self, array: pa.Array) -> pa.ListArray:
        """The lists with converted elements."""
        array = _storage(array)
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
    def leaves(self) -> frozenset[int]:
        """Those of both."""
        return self.key.leaves | self.value.leaves

    def read(self, array: pa.MapArray) -> pa.MapArray:
        """The maps with converted keys and values."""
        array = _storage(array)
        lists = as_lists(array)
        entries = lists.flatten()
        return pa.MapArray.from_arrays(
            list_offsets(lists),
            self.key.read(entries.field(0)),
            self.value.read(entries.field(1)),
            type=self.type,
            mask=array.is_null() if array.null_count else None,
        )


Reading: TypeAlias = ReadLeaf | ReadStruct | ReadList | ReadMap | ReadShredded
"""What all of them have: `leaves`, the leaf columns of the file that it needs, by number; and
`read`, which makes the table's column of the file's, and fails with `pa.ArrowInvalid` where a
value does not fit."""


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array
