"""Translate an Avro schema into a program for the compiled decoding loop.

A program lists the operations, the columns they fill, and how to build Arrow arrays from these.
Only requested fields get a column; the bytes of others are skipped. A schema with a type that the
loop can neither decode nor skip has no program.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from headrace.avro.codec import MAX_BLOCK_BYTES
from headrace.avro.field import COLUMN_TYPES, file_field_names
from headrace.compiled.avro_columns import (
    Bodies,
    ColumnPlan,
    FilledColumn,
    Kind,
    Operation,
    fill_columns,
)
from headrace.protocol import light
from headrace.protocol.state_schema import Schema

ArrayBuilder: TypeAlias = Callable[[Sequence[FilledColumn]], pa.Array]

_PRIMITIVES = {
    "null": Kind.NULL,
    "boolean": Kind.BOOLEAN,
    "int": Kind.INT,
    "long": Kind.LONG,
    "string": Kind.TEXT,
    "bytes": Kind.TEXT,
    "enum": Kind.INT,
}
_WIDTHS = {"float": 4, "double": 8}


class UnknownSchemaError(ValueError):
    """The compiled loop does not support this schema."""


class Program:
    """The operations for one schema and some of its fields."""

    def __init__(self, schema: Schema, fields: tuple[str, ...]) -> None:
        self._operations: list[Operation] = []
        self._plans: list[ColumnPlan] = []
        self._nesting = 0
        self._is_nullable = False
        names = file_field_names(schema)
        requested = {names[field]: field for field in fields if field in names}
        builders: dict[str, ArrayBuilder] = {}
        with self._value(Kind.RECORD):
            for field in schema["fields"]:
                name = requested.get(field["name"])
                if name is None:
                    self._skip_value(field["type"])
                else:
                    builders[name] = self._column(field["type"], COLUMN_TYPES[name])
        self._builders: Mapping[str, ArrayBuilder] = {
            name: builders[name] for name in fields if name in builders
        }

    def run(self, bodies: Bodies) -> pa.RecordBatch | None:
        """Decode the records of blocks; None if the caller must decode them with fastavro."""
        if not self._builders:
            return None
        filled = fill_columns(self._operations, self._plans, bodies)
        if filled is None:
            return None
        return pa.RecordBatch.from_pydict(
            {name: build_array(filled) for name, build_array in self._builders.items()}
        )

    def _value(self, kind: Kind, *, column: int = -1, argument: int = 0) -> "_OpenOperation":
        operation = Operation(kind, column, argument, 1)
        self._operations.append(operation)
        return _OpenOperation(self._operations, operation)

    def _new_column(self, kind: Kind) -> int:
        self._plans.append(ColumnPlan(kind, self._nesting > 0, self._is_nullable))
        return len(self._plans) - 1

    def _skip_value(self, kind: Any) -> None:  # noqa: C901  (one case a type)
        """Add the operations that skip a value."""
        match kind:
            case str() if kind in _PRIMITIVES and kind != "enum":
                self._value(_PRIMITIVES[kind])
            case "float" | "double":
                self._value(Kind.FIXED, argument=_WIDTHS[kind])
            case list():
                with self._value(Kind.UNION, argument=len(kind)):
                    for branch in kind:
                        self._skip_value(branch)
            case {"type": "map", "values": values}:
                with self._value(Kind.ITEMS):
                    self._value(Kind.TEXT)
                    self._skip_value(values)
            case {"type": "array", "items": items}:
                with self._value(Kind.ITEMS):
                    self._skip_value(items)
            case {"type": "record", "fields": fields}:
                with self._value(Kind.RECORD):
                    for field in fields:
                        self._skip_value(field["type"])
            case {"type": "fixed", "size": int(size)} if 0 <= size <= MAX_BLOCK_BYTES:
                self._value(Kind.FIXED, argument=size)
            case {"type": "enum"}:
                self._value(Kind.INT)
            case {"type": inner} if not isinstance(inner, str) or inner in _PRIMITIVES:
                self._skip_value(inner)
            case _:
                raise UnknownSchemaError(str(kind))

    def _column(self, kind: Any, target: pa.DataType) -> ArrayBuilder:
        """Add the operations that decode a value; return a function that builds its array."""
        match kind:
            case ["null", inner]:
                return self._nullable(inner, target, null_branch=0)
            case [inner, "null"]:
                return self._nullable(inner, target, null_branch=1)
            case "boolean" | "int" | "long" | "string":
                return self._primitive(_PRIMITIVES[kind], target)
            case {"type": "map", "values": values} if pa.types.is_map(target):
                column = self._new_column(Kind.ITEMS)
                with self._value(Kind.ITEMS, column=column), self._nested():
                    keys = self._primitive(Kind.TEXT, pa.string())
                    items = self._column(values, target.item_type)
                return lambda filled: _map(target, filled[column], keys(filled), items(filled))
            case {"type": "array", "items": values} if pa.types.is_list(target):
                column = self._new_column(Kind.ITEMS)
                with self._value(Kind.ITEMS, column=column), self._nested():
                    elements = self._column(values, target.value_type)
                return lambda filled: _list(target, filled[column], elements(filled))
            case {"type": "record", "fields": fields} if pa.types.is_struct(target):
                return self._record(fields, target)
            case {"type": ("boolean" | "int" | "long" | "string") as inner}:
                return self._primitive(_PRIMITIVES[inner], target)
            case _:
                raise UnknownSchemaError(str(kind))

    @contextmanager
    def _nested(self) -> Iterator[None]:
        """Add columns for the items of a list or map; a null list or map adds no items."""
        outer, self._is_nullable = self._is_nullable, False
        self._nesting += 1
        yield
        self._nesting -= 1
        self._is_nullable = outer

    def _nullable(self, kind: Any, target: pa.DataType, *, null_branch: int) -> ArrayBuilder:
        outer, self._is_nullable = self._is_nullable, True
        with self._value(Kind.NULLABLE, argument=null_branch):
            build_array = self._column(kind, target)
        self._is_nullable = outer
        return build_array

    def _primitive(self, kind: Kind, target: pa.DataType) -> ArrayBuilder:
        build_array = _PRIMITIVE_BUILDERS.get((kind, target))
        if build_array is None:
            raise UnknownSchemaError(f"{kind.name} for {target}")
        column = self._new_column(kind)
        self._value(kind, column=column)
        return lambda filled: build_array(filled[column])

    def _record(self, fields: Sequence[Any], target: pa.StructType) -> ArrayBuilder:
        column = self._new_column(Kind.RECORD)
        parts: dict[str, ArrayBuilder] = {}
        with self._value(Kind.RECORD, column=column):
            for field in fields:
                index = target.get_field_index(field["name"])
                if index < 0:
                    self._skip_value(field["type"])
                else:
                    parts[field["name"]] = self._column(field["type"], target.field(index).type)
        if set(parts) != {field.name for field in target}:
            raise UnknownSchemaError("a record lacks fields")
        ordered = [parts[field.name] for field in target]
        return lambda filled: pa.StructArray.from_arrays(
            [build_array(filled) for build_array in ordered],
            fields=list(target),
            mask=_null_mask(filled[column]),
        )


class _OpenOperation:
    """An operation whose parts are being added; its size is set on exit."""

    def __init__(self, operations: list[Operation], operation: Operation) -> None:
        self._operations, self._operation = operations, operation
        self._start = len(operations) - 1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        self._operation.size = len(self._operations) - self._start


def program_for(schema: Schema, fields: Sequence[str]) -> Program | None:
    """Return the program for some fields of a schema; None if the schema is not supported."""
    return _program(msgspec.json.encode(schema), tuple(fields))


@lru_cache(maxsize=64)
def _program(schema: bytes, fields: tuple[str, ...]) -> Program | None:
    try:
        return Program(msgspec.json.decode(schema), fields)
    except (UnknownSchemaError, KeyError, TypeError, AttributeError):
        return None


def _bitmap(filled: FilledColumn) -> pa.Buffer | None:
    valid = filled.valid
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _null_mask(filled: FilledColumn) -> pa.Array | None:
    valid = filled.valid
    return None if valid is None else light.from_numpy(valid == 0)


def _text(filled: FilledColumn) -> pa.Array:
    buffers = [_bitmap(filled), filled.offsets, filled.data]
    return pa.Array.from_buffers(pa.string(), filled.count, buffers)


def _long(filled: FilledColumn) -> pa.Array:
    buffers = [_bitmap(filled), filled.numbers]
    return pa.Array.from_buffers(pa.int64(), filled.count, buffers)


def _int(filled: FilledColumn) -> pa.Array:
    return _long(filled).cast(pa.int32())


def _boolean(filled: FilledColumn) -> pa.Array:
    packed = pa.py_buffer(
        np.packbits(np.frombuffer(filled.numbers, np.int64).astype(np.uint8), bitorder="little")
    )
    return pa.Array.from_buffers(pa.bool_(), filled.count, [_bitmap(filled), packed])


_PRIMITIVE_BUILDERS: dict[tuple[Kind, pa.DataType], Callable[[FilledColumn], pa.Array]] = {
    (Kind.TEXT, pa.string()): _text,
    (Kind.LONG, pa.int64()): _long,
    (Kind.INT, pa.int64()): _long,
    (Kind.INT, pa.int32()): _int,
    (Kind.BOOLEAN, pa.bool_()): _boolean,
}


def _map(target: pa.MapType, filled: FilledColumn, keys: pa.Array, items: pa.Array) -> pa.Array:
    entries = pa.StructArray.from_arrays(
        [keys, items], fields=[target.key_field, target.item_field]
    )
    buffers = [_bitmap(filled), filled.offsets]
    return pa.Array.from_buffers(target, filled.count, buffers, children=[entries])


def _list(target: pa.ListType, filled: FilledColumn, elements: pa.Array) -> pa.Array:
    buffers = [_bitmap(filled), filled.offsets]
    return pa.Array.from_buffers(target, filled.count, buffers, children=[elements])
