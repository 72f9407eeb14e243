"""The JSON statistics of many files at once, decoded for a few columns only.

All texts of a batch are decoded in one call into structs that have just the members that are
asked for. A text that cannot be decoded counts as no statistics, a value of the wrong type as
unknown: both only keep a file that might have been skipped.

`tightBounds` is not looked at. Whether bounds are tight or wide, extremes hold for every row,
and a null count tells something at zero and at the number of records; nothing else is used.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.cast import parse_float
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.value import INTEGER_BITS

Path: TypeAlias = tuple[str, ...]

_DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
_CONVERT_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError)
_WIDE = Context(prec=80)


class Wanted(Enum):
    """What is asked about a column."""

    NULL_COUNT = "null count"
    EXTREMES = "null count and extremes"


class StatisticsColumn(msgspec.Struct, frozen=True):
    """A column whose statistics are wanted: its physical path, its type, and what is wanted."""

    path: Path
    type: DataType
    wanted: Wanted


class ColumnStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What each file's statistics say about one column; null where they say nothing."""

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Int64Array


class FileStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What each file's statistics say; physical rows are counted, deleted ones too."""

    num_records: pa.Int64Array
    columns: dict[Path, ColumnStatistics]


def decode_statistics(texts: pa.StringArray, columns: Sequence[StatisticsColumn]) -> FileStatistics:
    """Decode the statistics of these files for these columns."""
    decoder = _decoder(tuple(columns))
    rows = decoder.rows(texts)
    return FileStatistics(
        num_records=_integers(decoder.values(rows, ("numRecords",))),
        columns={
            column.path: ColumnStatistics(
                minimum=_extreme(decoder, rows, "minValues", column),
                maximum=_extreme(decoder, rows, "maxValues", column),
                null_count=_integers(decoder.values(rows, ("nullCount", *column.path))),
            )
            for column in columns
        },
    )


def extreme_type(column: StatisticsColumn) -> pa.DataType:
    """The Arrow type of a column's extremes; that of nulls if they are not wanted."""
    if column.wanted is not Wanted.EXTREMES:
        return pa.null()
    # One width serves all integers, so that a wrong number is merely too large.
    return pa.int64() if str(column.type) in INTEGER_BITS else arrow_type(column.type)


class _Decoder(msgspec.Struct, frozen=True):
    """A decoder for one set of columns, and how to get at each leaf of what it returns."""

    json: "msgspec.json.Decoder[Any]"
    getters: Mapping[Path, Callable[[Any], Any]]

    def rows(self, texts: pa.StringArray) -> list[Any]:
        raw = texts.cast(pa.binary())
        # A text between braces can neither swallow the next line nor hide in it, so that equal
        # counts prove one document for each.
        whole = pc.and_(pc.starts_with(raw, b"{"), pc.ends_with(raw, b"}"))
        lines = pc.binary_join_element_wise(
            pc.if_else(pc.fill_null(whole, False), raw, pa.scalar(b"{}")), b"", b"\n"
        )
        try:
            rows = self.json.decode_lines(_data(lines))
        except _DECODE_ERRORS:
            rows = []
        return rows if len(rows) == len(texts) else [self._row(line) for line in lines.to_pylist()]

    def values(self, rows: list[Any], leaf: Path) -> list[Any]:
        getter = self.getters[leaf]
        try:
            return list(map(getter, rows))
        except (AttributeError, TypeError, KeyError):  # a level is null in some row
            return [_get_or_none(getter, row) for row in rows]

    def _row(self, line: bytes) -> Any:
        try:
            return self.json.decode(line)
        except _DECODE_ERRORS:
            return self.json.decode(b"{}")


@lru_cache(maxsize=64)
def _decoder(columns: tuple[StatisticsColumn, ...]) -> _Decoder:
    leaves: dict[Path, Any] = {("numRecords",): Any}
    for column in columns:
        leaves["nullCount", *column.path] = Any
        if column.wanted is Wanted.EXTREMES:
            kind = Decimal | None if isinstance(column.type, DecimalType) else Any
            leaves["minValues", *column.path] = kind
            leaves["maxValues", *column.path] = kind
    try:
        struct, names = _struct(leaves)
    except ValueError:  # msgspec has no fields whose names need escapes
        json = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
        return _Decoder(json, {leaf: _key_getter(leaf) for leaf in leaves})
    getters = {leaf: attrgetter(".".join(names[leaf])) for leaf in leaves}
    return _Decoder(msgspec.json.Decoder(struct), getters)


def _struct(leaves: dict[Path, Any]) -> tuple[type[msgspec.Struct], dict[Path, Path]]:
    """A struct type with these leaves, and the attributes that lead to each of them."""
    fields: list[tuple[str, Any, Any]] = []
    rename: dict[str, str] = {}
    attributes: dict[Path, Path] = {}
    for index, name in enumerate(dict.fromkeys(leaf[0] for leaf in leaves)):
        attribute = f"f{index}"
        rename[attribute] = name
        below = {leaf[1:]: kind for leaf, kind in leaves.items() if leaf[0] == name}
        if () in below:
            attributes[name,] = (attribute,)
            fields.append((attribute, below[()], None))
            continue
        level, inner = _struct(below)
        fields.append((attribute, level | None, level()))
        attributes |= {(name, *leaf): (attribute, *path) for leaf, path in inner.items()}
    struct = msgspec.defstruct("Statistics", fields, rename=rename, frozen=True, gc=False)
    return struct, attributes


def _key_getter(leaf: Path) -> Callable[[Any], Any]:
    def get(row: Any) -> Any:
        for key in leaf:
            row = row[key]
        return row

    return get


def _get_or_none(getter: Callable[[Any], Any], row: Any) -> Any:
    try:
        return getter(row)
    except (AttributeError, TypeError, KeyError):
        return None


def _data(lines: pa.BinaryArray) -> Any:
    """The bytes of all lines, one after the other, without a copy."""
    offsets, data = lines.buffers()[1:]
    view = memoryview(offsets).cast("i")
    return memoryview(data)[view[lines.offset] : view[lines.offset + len(lines)]]


def _extreme(decoder: _Decoder, rows: list[Any], kind: str, column: StatisticsColumn) -> pa.Array:
    if column.wanted is not Wanted.EXTREMES:
        return pa.nulls(len(rows))
    values = decoder.values(rows, (kind, *column.path))
    target = extreme_type(column)
    match column.type:
        case DecimalType():
            rounding = ROUND_FLOOR if kind == "minValues" else ROUND_CEILING
            return _decimals(values, column.type, target, rounding)
        case PrimitiveType("byte" | "short" | "integer" | "long"):
            return _integers(values)
        case PrimitiveType("float" | "double"):
            # A float's text is the shortest that leads back to it: as a double it may be less.
            return _floats(values).cast(target, safe=False)
        case PrimitiveType("boolean"):
            return _of_type(values, target, (bool,))
        case _:
            return typed_array(_of_type(values, pa.string(), (str,)), column.type)[0]


def _integers(values: list[Any]) -> pa.Int64Array:
    return _of_type(values, pa.int64(), (int,))


def _of_type(values: list[Any], target: pa.DataType, accepted: tuple[type, ...]) -> pa.Array:
    try:
        array = pa.array(values)
    except _CONVERT_ERRORS:
        array = None
    if array is not None and array.type in (target, pa.null()):
        return array.cast(target)
    # The type itself is asked for: True is an int in Python, and no number in JSON.
    kept = (value if type(value) in accepted else None for value in values)
    return pa.array([_or_none(value, target) for value in kept], target)


def _floats(values: list[Any]) -> pa.DoubleArray:
    try:
        array = pa.array(values)
    except _CONVERT_ERRORS:
        array = None
    if array is not None and array.type in (pa.float64(), pa.int64(), pa.null()):
        return array.cast(pa.float64(), safe=False)
    return pa.array([_float_or_none(value) for value in values], pa.float64())


def _float_or_none(value: Any) -> float | None:
    """A number, or one of the texts that stand for those that JSON does not have."""
    try:
        if isinstance(value, str):
            return parse_float(value)
        return float(value) if type(value) in (int, float, Decimal) else None
    except (ValueError, OverflowError):
        return None


def _decimals(
    values: list[Any], data_type: DecimalType, target: pa.DataType, rounding: str
) -> pa.Array:
    try:
        return pa.array(values, target)
    except _CONVERT_ERRORS:
        return pa.array(
            [_or_none(_rounded(value, data_type, rounding), target) for value in values], target
        )


def _rounded(value: Any, data_type: DecimalType, rounding: str) -> Decimal | None:
    if type(value) is int:
        value = Decimal(value)
    # An absurd exponent would be written out digit by digit.
    if type(value) is not Decimal or not value.is_finite() or abs(value.adjusted()) > _WIDE.prec:
        return None
    try:
        return value.quantize(Decimal((0, (1,), -data_type.scale)), rounding, _WIDE)
    except ArithmeticError:
        return None


def _or_none(value: Any, target: pa.DataType) -> Any:
    try:
        pa.scalar(value, target)
    except _CONVERT_ERRORS:
        return None
    return value
