"""Finds the table's columns in a file, by name or by id, at every depth.

Leaf columns are numbered in the order of the file's Arrow schema, as Parquet numbers them, so that
names with dots need no special treatment.
"""

from collections.abc import Callable, Iterator
from enum import Enum

import msgspec
import pyarrow as pa
from pyarrow import types

from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    NameIndex,
    PrimitiveType,
    StructType,
    find_named,
    fold_name,
    index_names,
)
from headrace.rows.convert import Convert, converter
from headrace.rows.plain import storage_type
from headrace.rows.reading import Member, Reading, ReadLeafColumn, ReadList, ReadMap, ReadStruct
from headrace.rows.shredded import ReadShredded, is_shreddable

_FIELD_ID = b"PARQUET:field_id"
_COLUMN_ID = "delta.columnMapping.id"
# Its parts have no ids and are found by name.
_VARIANT = StructType(
    (
        Field("value", PrimitiveType("binary"), nullable=False),
        Field("metadata", PrimitiveType("binary"), nullable=False),
    )
)
_SHREDDED = "typed_value"


class MatchBy(Enum):
    """How columns of a file are matched with those of the table."""

    NAME = "name"
    ID = "id"


class MismatchError(Exception):
    """A file does not match the table's schema; the message says how."""


class UnreadTypeError(Exception):
    """A file has a column of a type that cannot be read as any table type."""

    def __init__(self, column: str, source: pa.DataType) -> None:
        super().__init__(f"values of the type {source} are not read")
        self.column = column


class ShreddedError(Exception):
    """A file has a shredded variant in an unsupported form; the message names the column."""


class ColumnReading(msgspec.Struct, frozen=True):
    """A column of the table: its position in the file, and how it is read."""

    position: int
    """Its position among the columns of the file."""
    is_stored_as_codes: bool
    """Whether the writer's Arrow type was a dictionary, so that Arrow returns codes anyway."""
    reading: Reading


class _FileColumn(msgspec.Struct, frozen=True):
    """A column of the file, or a struct member: its field and its first leaf column number."""

    field: pa.Field
    first_leaf_column: int
    position: int = 0


class _Level(msgspec.Struct, frozen=True):
    """The columns of a file, or the members of a struct in it, by name and by id."""

    by_name: NameIndex[_FileColumn]
    by_id: dict[bytes, list[_FileColumn]]

    @classmethod
    def of(cls, parent: pa.Schema | pa.StructType, first: int) -> "_Level":
        columns = list(_numbered(parent, first))
        by_id: dict[bytes, list[_FileColumn]] = {}
        for column in columns:
            if column_id := _id_of(column.field):
                by_id.setdefault(column_id, []).append(column)
        return cls(index_names((f.field.name, f) for f in columns), by_id)


def _no_preparation(source: pa.DataType, leaf_column: int) -> None:
    """Return None: no column needs preparation."""


class StoredColumns:
    """The columns of one file, to look up those of the table."""

    def __init__(
        self,
        schema: pa.Schema,
        *,
        match_by: MatchBy,
        prepare: Callable[[pa.DataType, int], Convert | None] = _no_preparation,
    ) -> None:
        """Number the columns of a file.

        Args:
            schema: The file's Arrow schema.
            match_by: How to match the table's columns.
            prepare: Returns a function to apply to a leaf column before it is converted, or None.

        Raises:
            MismatchError: columns are matched by id, and the file has no ids.
        """
        self._match_by = match_by
        self._prepare = prepare
        self._top = _Level.of(schema, 0)
        if match_by is MatchBy.ID and len(schema) and not self._top.by_id:
            reason = "its columns have no field ids, by which this table's columns are found"
            raise MismatchError(reason)

    def find(self, field: Field) -> ColumnReading | None:
        """Return how to read a column, or None if the file lacks it, so that it is null.

        Raises:
            MismatchError: the file's type cannot be read as the table's.
            ShreddedError: the file has a variant in an unsupported form.
        """
        column = self._lookup(field, self._top)
        if column is None:
            return None
        reading = self._resolve(field.type, column, where=field.name)
        return ColumnReading(column.position, types.is_dictionary(column.field.type), reading)

    def _lookup(self, field: Field, among: _Level) -> _FileColumn | None:
        if self._match_by is MatchBy.ID and _COLUMN_ID in field.metadata:
            columns = among.by_id.get(str(field.metadata[_COLUMN_ID]).encode(), [])
            if len(columns) > 1:
                listed = ", ".join(column.field.name for column in columns)
                raise MismatchError(f"it has several columns with the id of {field.name}: {listed}")
            return columns[0] if columns else None
        return self._named(field.physical_name, among)

    def _named(self, name: str, among: _Level) -> _FileColumn | None:
        spellings = [spelling for spelling, _ in among.by_name.get(fold_name(name), [])]
        if len(spellings) > 1 and spellings.count(name) != 1:
            listed = ", ".join(spellings)
            raise MismatchError(f"it has several columns for {name}: {listed}")
        return find_named(name, among.by_name)

    def _resolve(self, target: DataType, column: _FileColumn, *, where: str) -> Reading:
        source, first = storage_type(column.field.type), column.first_leaf_column
        match target:
            case PrimitiveType("variant"):
                return self._variant(source, first, where=where)
            case StructType():
                return self._struct(target, source, first, where=where)
            case ArrayType(element):
                if not _is_list(source):
                    raise _mismatch(where, source, target)
                inner = _FileColumn(source.value_field, first)
                reading = self._resolve(element, inner, where=f"{where}.element")
                return ReadList(arrow_type(target), reading)
            case MapType(key, value):
                if not types.is_map(source):
                    raise _mismatch(where, source, target)
                keys = _FileColumn(source.key_field, first)
                items = _FileColumn(source.item_field, first + _leaf_column_count(source.key_type))
                return ReadMap(
                    arrow_type(target),
                    self._resolve(key, keys, where=f"{where}.key"),
                    self._resolve(value, items, where=f"{where}.value"),
                )
            case _:
                return self._leaf_column(target, column, where=where)

    def _leaf_column(self, target: DataType, column: _FileColumn, *, where: str) -> Reading:
        source, leaf_column = column.field.type, column.first_leaf_column
        if types.is_nested(storage_type(source)):
            raise _mismatch(where, source, target)
        if _is_unread(storage_type(source)):
            raise UnreadTypeError(where, source)
        try:
            convert = converter(source, arrow_type(target))
        except TypeError as error:
            raise _mismatch(where, source, target) from error
        prepare = self._prepare(source, leaf_column)
        if prepare is None:
            return ReadLeafColumn(leaf_column, source, convert)
        return ReadLeafColumn(leaf_column, source, lambda array: convert(prepare(array)))

    def _struct(
        self, target: StructType, source: pa.DataType, first: int, *, where: str
    ) -> Reading:
        if not types.is_struct(source):
            raise _mismatch(where, source, target)
        among = _Level.of(source, first)
        arrow_target = arrow_type(target)
        members = []
        for index, member in enumerate(target.fields):
            column = self._lookup(member, among)
            if column is None:
                members.append(Member(arrow_target.field(index), "", None))
                continue
            reading = self._resolve(member.type, column, where=f"{where}.{member.name}")
            members.append(Member(arrow_target.field(index), column.field.name, reading))
        return ReadStruct(arrow_target, tuple(members), witness=first)

    def _variant(self, source: pa.DataType, first: int, *, where: str) -> Reading:
        shredded = source.get_field_index(_SHREDDED) if types.is_struct(source) else -1
        if shredded < 0:
            return self._struct(_VARIANT, source, first, where=where)
        if not is_shreddable(source.field(shredded).type):
            raise ShreddedError(f"column {where} as a variant that is shredded to {source}")
        leaf_columns = frozenset(range(first, first + _leaf_column_count(source)))
        return ReadShredded(arrow_type(PrimitiveType("variant")), leaf_columns)


def _mismatch(where: str, source: pa.DataType, target: DataType) -> MismatchError:
    return MismatchError(f"column {where} is {source} in it, which is not read as {target}")


def _numbered(parent: pa.Schema | pa.StructType, first: int) -> Iterator[_FileColumn]:
    for position, field in enumerate(parent):
        yield _FileColumn(field, first, position)
        first += _leaf_column_count(field.type)


def _leaf_column_count(kind: pa.DataType) -> int:
    kind = storage_type(kind)
    if types.is_struct(kind):
        return sum(_leaf_column_count(field.type) for field in kind)
    if types.is_map(kind):
        return _leaf_column_count(kind.key_type) + _leaf_column_count(kind.item_type)
    return _leaf_column_count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_unread(kind: pa.DataType) -> bool:
    return any(
        test(kind) for test in (types.is_time, types.is_duration, types.is_interval, types.is_union)
    )


def _id_of(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(_FIELD_ID)
