"""The JSON statistics of many files at once, for a few columns only, as typed columns.

A text that cannot be decoded counts as no statistics, a value of the wrong type as unknown: both
only keep a file that might have been skipped.

`tightBounds` is not looked at. Whether bounds are tight or wide, extremes hold for every row,
and a null count tells something at zero and at the number of records; nothing else is used.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Flag, auto
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.cast import parse_float
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.statistics_json import DecodedStatistics, Path, statistics_decoder
from headrace.protocol.value import INTEGER_BITS

_CONVERT_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError)
_WIDE = Context(prec=80)


class Wanted(Flag):
    """What is asked about a column."""

    NOTHING = 0
    NULL_COUNT = auto()
    EXTREMES = auto()
    """Where they are lacking, the null count tells whether there are values at all."""


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
    """What each file's statistics say; physical rows are counted, deleted ones too.

    What is not wanted may be null.
    """

    num_records: pa.Int64Array
    columns: dict[Path, ColumnStatistics]


def decode_statistics(texts: pa.StringArray, columns: Sequence[StatisticsColumn]) -> FileStatistics:
    """Decode the statistics of these files for these columns."""
    found = _decode(texts, columns)
    lacking = _without_extremes(found, columns)
    if not lacking.true_count:
        return found
    counts = _decode(
        texts.filter(lacking),
        [StatisticsColumn(column.path, column.type, Wanted.NULL_COUNT) for column in columns],
    )
    return _with_counts(found, counts, lacking)


def _decode(texts: pa.StringArray, columns: Sequence[StatisticsColumn]) -> FileStatistics:
    found = statistics_decoder(tuple(_leaves(columns).items())).decode(texts)
    return FileStatistics(
        num_records=_count(found, ("numRecords",)),
        columns={
            column.path: ColumnStatistics(
                minimum=_extreme(found, "minValues", column),
                maximum=_extreme(found, "maxValues", column),
                null_count=_count(found, ("nullCount", *column.path)),
            )
            for column in columns
        },
    )


def _leaves(columns: Sequence[StatisticsColumn]) -> dict[Path, type]:
    """What is looked at, and what it is in JSON if all is well."""
    leaves: dict[Path, type] = {}
    for column in columns:
        if Wanted.NULL_COUNT in column.wanted:
            leaves["numRecords",] = leaves["nullCount", *column.path] = int
        if Wanted.EXTREMES in column.wanted:
            kind = _json_type(column.type)
            leaves["minValues", *column.path] = leaves["maxValues", *column.path] = kind
    return leaves


def _json_type(data_type: DataType) -> type:
    match data_type:
        case DecimalType():
            return Decimal
        case PrimitiveType("byte" | "short" | "integer" | "long"):
            return int
        case PrimitiveType("float" | "double"):
            return float
        case PrimitiveType("boolean"):
            return bool
        case _:
            return str


def _without_extremes(
    found: FileStatistics, columns: Sequence[StatisticsColumn]
) -> pa.BooleanArray:
    """The files of which counts must be looked at, because extremes do not tell enough."""
    lacking = pa.repeat(False, len(found.num_records))
    for column in columns:
        known = found.columns[column.path]
        if column.wanted == Wanted.EXTREMES and (
            known.minimum.null_count or known.maximum.null_count
        ):
            some = pc.or_(known.minimum.is_null(), known.maximum.is_null())
            lacking = pc.or_(lacking, some)
    return lacking


def _with_counts(
    found: FileStatistics, counts: FileStatistics, mask: pa.BooleanArray
) -> FileStatistics:
    return FileStatistics(
        num_records=pc.replace_with_mask(found.num_records, mask, counts.num_records),
        columns={
            path: ColumnStatistics(
                minimum=known.minimum,
                maximum=known.maximum,
                null_count=pc.replace_with_mask(
                    known.null_count, mask, counts.columns[path].null_count
                ),
            )
            for path, known in found.columns.items()
        },
    )


def extreme_type(column: StatisticsColumn) -> pa.DataType:
    """The Arrow type of a column's extremes; that of nulls if they are not wanted."""
    if Wanted.EXTREMES not in column.wanted:
        return pa.null()
    # One width serves all integers, so that a wrong number is merely too large.
    return pa.int64() if str(column.type) in INTEGER_BITS else arrow_type(column.type)


def _count(found: DecodedStatistics, leaf: Path) -> pa.Int64Array:
    return _integers(found, leaf) if leaf in found.getters else pa.nulls(len(found), pa.int64())


def _extreme(found: DecodedStatistics, side: str, column: StatisticsColumn) -> pa.Array:
    if Wanted.EXTREMES not in column.wanted:
        return pa.nulls(len(found))
    leaf = (side, *column.path)
    if _json_type(column.type) is int:
        return _integers(found, leaf)
    values = found.values(leaf)
    target = extreme_type(column)
    match column.type:
        case DecimalType():
            rounding = ROUND_FLOOR if side == "minValues" else ROUND_CEILING
            return _decimals(values, column.type, target, rounding)
        case PrimitiveType("float" | "double"):
            # A float's text is the shortest that leads back to it: as a double it may be less.
            return _floats(values).cast(target, safe=False)
        case PrimitiveType("boolean"):
            return _of_type(values, target, (bool,))
        case _:
            return typed_array(_of_type(values, pa.string(), (str,)), column.type)[0]


def _integers(found: DecodedStatistics, leaf: Path) -> pa.Int64Array:
    quick = found.integers(leaf)
    return _of_type(found.values(leaf), pa.int64(), (int,)) if quick is None else quick


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
