"""Decode the JSON statistics of many files at once into typed columns, for a few columns only.

Text that cannot be decoded counts as missing statistics, and a value of the wrong type as unknown.
Neither loses a file: at worst, a file is kept that could have been skipped.

`tightBounds` is ignored. Tight or wide, the minimum and maximum hold for every row,
and a null count is used only when it is zero or the number of records.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import Flag, auto

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.compiled.statistics import Path
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.arrow_value import typed_array
from headrace.protocol.schema import DataType, DecimalType, PrimitiveType
from headrace.protocol.statistics.decoder import LeafValues, statistics_decoder
from headrace.protocol.value import INTEGER_BITS


class NeededStatistics(Flag):
    """Which statistics of a column are requested."""

    NOTHING = 0
    NULL_COUNT = auto()
    EXTREMES = auto()
    """Where they are missing, the null count shows whether there are any values."""


class StatisticsColumn(msgspec.Struct, frozen=True):
    """A column whose statistics are requested: its physical path, its type, and which ones."""

    path: Path
    type: DataType
    needed: NeededStatistics


class ColumnStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of one column in each file; null where they are missing."""

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Int64Array


class StatisticsBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of each file. Counts are of physical rows, including deleted ones.

    Statistics that were not requested may be null.
    """

    num_records: pa.Int64Array
    columns: dict[Path, ColumnStatistics]


def decode_statistics(
    texts: pa.StringArray, columns: Sequence[StatisticsColumn]
) -> StatisticsBatch:
    """Decode the statistics of these files for these columns."""
    statistics = _decode(texts, columns)
    lacking = _without_extremes(statistics, columns)
    if not lacking.true_count:
        return statistics
    counts = _decode(
        texts.filter(lacking),
        [
            StatisticsColumn(column.path, column.type, NeededStatistics.NULL_COUNT)
            for column in columns
        ],
    )
    return _with_counts(statistics, counts, lacking)


def _decode(texts: pa.StringArray, columns: Sequence[StatisticsColumn]) -> StatisticsBatch:
    types = _leaf_types(columns)
    values = statistics_decoder(tuple(types.items())).decode(texts)

    def count(*path: str) -> pa.Int64Array:
        return values.integers(path) if path in types else pa.nulls(len(texts), pa.int64())

    def extreme(side: str, column: StatisticsColumn) -> pa.Array:
        is_needed = NeededStatistics.EXTREMES in column.needed
        return _extreme(values, side, column) if is_needed else pa.nulls(len(texts))

    return StatisticsBatch(
        num_records=count("numRecords"),
        columns={
            column.path: ColumnStatistics(
                minimum=extreme("minValues", column),
                maximum=extreme("maxValues", column),
                null_count=count("nullCount", *column.path),
            )
            for column in columns
        },
    )


def _leaf_types(columns: Sequence[StatisticsColumn]) -> dict[Path, type]:
    """Return the leaf columns to decode, with the JSON type expected of each."""
    types: dict[Path, type] = {}
    for column in columns:
        if NeededStatistics.NULL_COUNT in column.needed:
            types["numRecords",] = types["nullCount", *column.path] = int
        if NeededStatistics.EXTREMES in column.needed:
            kind = _json_type(column.type)
            types["minValues", *column.path] = types["maxValues", *column.path] = kind
    return types


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
    statistics: StatisticsBatch, columns: Sequence[StatisticsColumn]
) -> pa.BooleanArray:
    """Return a mask of the files whose null counts are needed because extremes are missing."""
    lacking = pa.repeat(light.FALSE, len(statistics.num_records))
    for column in columns:
        known = statistics.columns[column.path]
        if column.needed == NeededStatistics.EXTREMES and (
            known.minimum.null_count or known.maximum.null_count
        ):
            some = pc.or_(known.minimum.is_null(), known.maximum.is_null())
            lacking = pc.or_(lacking, some)
    return lacking


def _with_counts(
    statistics: StatisticsBatch, counts: StatisticsBatch, mask: pa.BooleanArray
) -> StatisticsBatch:
    return StatisticsBatch(
        num_records=pc.replace_with_mask(statistics.num_records, mask, counts.num_records),
        columns={
            path: ColumnStatistics(
                minimum=known.minimum,
                maximum=known.maximum,
                null_count=pc.replace_with_mask(
                    known.null_count, mask, counts.columns[path].null_count
                ),
            )
            for path, known in statistics.columns.items()
        },
    )


def extreme_type(column: StatisticsColumn) -> pa.DataType:
    """Return the Arrow type of a column's extremes; the null type if they are not requested."""
    if NeededStatistics.EXTREMES not in column.needed:
        return pa.null()
    # All integers use one width, so that an invalid number is merely too large.
    return pa.int64() if str(column.type) in INTEGER_BITS else arrow_type(column.type)


def _extreme(values: LeafValues, side: str, column: StatisticsColumn) -> pa.Array:
    path = (side, *column.path)
    match column.type:
        case DecimalType():
            rounding = ROUND_FLOOR if side == "minValues" else ROUND_CEILING
            return values.decimals(path, column.type, rounding)
        case PrimitiveType("byte" | "short" | "integer" | "long"):
            return values.integers(path)
        case PrimitiveType("float" | "double"):
            # A float is written as its shortest text, which may be less as a double: cast it back.
            return values.doubles(path).cast(extreme_type(column), safe=False)
        case PrimitiveType("boolean"):
            return values.booleans(path)
        case _:
            return typed_array(values.strings(path), column.type)[0]
