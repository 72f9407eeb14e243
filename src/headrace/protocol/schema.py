"""The schema of a table: the JSON of `metaData.schemaString` as a small tree of values.

Data files and statistics use a column's physical name, users its logical name. A field has both,
so that code below this level need not know the column mapping mode.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import msgspec

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_MAX_DIGITS = 38

T = TypeVar("T")
NameIndex: TypeAlias = dict[str, list[tuple[str, T]]]
"""Items with their exact names, by folded name."""


def fold_name(name: str) -> str:
    """Fold a name as Spark does to compare names: Java's lower case.

    This is not Unicode case folding, which would make `straße` and `strasse` one column.
    """
    return name.lower()


def index_names(named: Iterable[tuple[str, T]]) -> NameIndex[T]:
    """Index items by their folded names."""
    index: NameIndex[T] = {}
    for name, item in named:
        index.setdefault(fold_name(name), []).append((name, item))
    return index


def find_named(name: str, index: NameIndex[T]) -> T | None:
    """Find an item by name; as in Spark, case matters only if names differ in nothing else."""
    candidates = index.get(fold_name(name), [])
    for candidate, item in candidates:
        if candidate == name:
            return item
    return candidates[0][1] if len(candidates) == 1 else None


class PrimitiveType(msgspec.Struct, frozen=True):
    """A type with a one-word name, such as `long` or `timestamp_ntz`."""

    name: str

    def __str__(self) -> str:
        return self.name


class DecimalType(msgspec.Struct, frozen=True):
    """An exact number with `scale` digits after the decimal point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


class ArrayType(msgspec.Struct, frozen=True):
    """A list of values of one type."""

    element: "DataType"
    contains_null: bool

    def __str__(self) -> str:
        return f"array<{self.element}>"


class MapType(msgspec.Struct, frozen=True):
    """Values by key."""

    key: "DataType"
    value: "DataType"
    value_contains_null: bool

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


class Field(msgspec.Struct, frozen=True):
    """A named column or member of a struct."""

    name: str
    type: "DataType"
    nullable: bool = True
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.type, self.nullable))  # metadata is an unhashable dictionary

    @property
    def physical_name(self) -> str:
        """The name in data files, statistics and partition values."""
        return str(self.metadata.get(_PHYSICAL_NAME, self.name))


class StructType(msgspec.Struct, frozen=True, dict=True):
    """An ordered set of fields; the schema of a table is one."""

    fields: tuple[Field, ...] = ()

    def __str__(self) -> str:
        return f"struct<{','.join(f'{f.name}:{f.type}' for f in self.fields)}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The logical names, in order."""
        return tuple(f.name for f in self.fields)

    def find(self, name: str) -> Field | None:
        """Find a field by name; as in Spark, case matters only if names differ in nothing else."""
        return find_named(name, self._by_name)

    @cached_property
    def _by_name(self) -> "NameIndex[Field]":
        return index_names((field.name, field) for field in self.fields)


DataType: TypeAlias = PrimitiveType | DecimalType | ArrayType | MapType | StructType


def parse_schema(text: str | None) -> StructType:
    """Decode a schema string; without one, the table has no columns yet.

    Raises:
        ValueError: the text is not a Delta schema.
    """
    if not text:
        return StructType()
    try:
        parsed = parse_type(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the schema cannot be decoded ({error!r})") from error
    if not isinstance(parsed, StructType):
        raise ValueError(f"the schema is a {parsed}, not a struct")  # noqa: TRY004
    return parsed


def parse_type(spec: Any) -> DataType:
    """Decode one type from the JSON of a schema.

    Raises:
        ValueError: it is not a Delta type.
    """
    try:
        return _data_type(spec)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the type cannot be decoded ({error!r})") from error


def physical_schema(schema: StructType) -> StructType:
    """Return the same tree with the physical names that data files use."""
    return StructType(tuple(_physical_field(f) for f in schema.fields))


def _physical_field(logical: Field) -> Field:
    return Field(
        logical.physical_name, _physical_type(logical.type), logical.nullable, logical.metadata
    )


def _physical_type(logical: DataType) -> DataType:
    match logical:
        case StructType():
            return physical_schema(logical)
        case ArrayType(element, contains_null):
            return ArrayType(_physical_type(element), contains_null)
        case MapType(key, value, value_contains_null):
            return MapType(_physical_type(key), _physical_type(value), value_contains_null)
        case _:
            return logical


def _data_type(spec: Any) -> DataType:
    if isinstance(spec, str):
        return _decimal(spec) if spec.startswith("decimal") else PrimitiveType(spec)
    match spec["type"]:
        case "struct":
            return StructType(
                tuple(
                    Field(
                        _name(f["name"]),
                        _data_type(f["type"]),
                        f["nullable"],
                        f.get("metadata") or {},
                    )
                    for f in spec["fields"]
                )
            )
        case "array":
            return ArrayType(_data_type(spec["elementType"]), spec["containsNull"])
        case "map":
            return MapType(
                _data_type(spec["keyType"]),
                _data_type(spec["valueType"]),
                spec["valueContainsNull"],
            )
        case kind:
            raise ValueError(f"the schema has a nested type {kind!r}")


def _decimal(spec: str) -> DecimalType:
    precision, _, scale = spec[len("decimal") :].strip("() ").partition(",")
    decimal = DecimalType(int(precision or 10), int(scale or 0))
    if not 0 <= decimal.scale <= decimal.precision <= _MAX_DIGITS or not decimal.precision:
        raise ValueError(
            f"the schema has a type {spec}, and decimals have 1 to {_MAX_DIGITS} digits"
        )
    return decimal


def _name(spec: Any) -> str:
    if not isinstance(spec, str):
        raise TypeError(f"{spec!r} is not a name")
    return spec
