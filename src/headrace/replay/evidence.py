"""Read the statistics of a batch of files from typed columns, from JSON, or from both.

A checkpoint may store statistics as typed columns (`stats_parsed`), as JSON text (`stats`), or
both, and its typed columns may be older than the table's schema. For each file and statistic the
typed value wins if there is one; JSON is decoded only for files that need it.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol import light
from headrace.protocol.statistics.decode import (
    ColumnStatistics,
    NeededStatistics,
    StatisticsBatch,
    StatisticsColumn,
    decode_statistics,
    extreme_type,
)
from headrace.protocol.statistics.decoder import statistics_decoder

_RECORDS = ("numRecords",)
_KINDS = ("minValues", "maxValues", "nullCount")


class StatisticsSource(Protocol):
    """The statistics columns of a batch of files."""

    def __len__(self) -> int:
        """The number of files."""

    def stats_json(self) -> pa.StringArray | None:
        """Return the statistics as JSON text; None if there is no such column."""

    def stats_parsed(self, path: tuple[str, ...]) -> pa.Array | None:
        """Return a typed column, such as `("minValues", "a", "b")`; None if there is none."""


def read_statistics(
    files: StatisticsSource,
    columns: Sequence[StatisticsColumn],
    *,
    selection: pa.BooleanArray | None,
) -> StatisticsBatch:
    """Read the statistics of some columns, for the selected files or for all."""
    source = _Selected(files, selection)
    texts = source.json()
    if texts is not None and not source.has_parsed(columns):
        return decode_statistics(texts, columns)
    parsed = source.parsed(columns)
    if texts is None:
        return parsed
    incomplete = pc.and_(_incomplete(parsed, columns), texts.is_valid())
    count = pc.sum(incomplete, min_count=0).as_py()
    if not count:
        return parsed
    if count == len(texts) == parsed.num_records.null_count:
        return decode_statistics(texts, columns)
    decoded = decode_statistics(texts.filter(incomplete), columns)
    return _merged(parsed, decoded, incomplete)


def record_counts(files: StatisticsSource) -> pa.Int64Array:
    """Return the row count of each file, including deleted rows; null where it is unknown."""
    parsed = files.stats_parsed(_RECORDS)
    counts = None if parsed is None else _widened(parsed, pa.int64())
    texts = files.stats_json()
    if counts is not None and (texts is None or not counts.null_count):
        return counts
    if texts is None:
        return pa.nulls(len(files), pa.int64())
    decoded = statistics_decoder(((_RECORDS, int),)).decode(texts).integers(_RECORDS)
    return decoded if counts is None else pc.coalesce(counts, decoded)


class _Selected(msgspec.Struct, frozen=True):
    files: StatisticsSource
    selection: pa.BooleanArray | None

    def json(self) -> pa.StringArray | None:
        return self._select(self.files.stats_json())

    def has_parsed(self, columns: Sequence[StatisticsColumn]) -> bool:
        """Whether any of these columns has a typed statistic."""
        paths: list[tuple[str, ...]] = [("numRecords",)]
        paths += [(kind, *c.path) for c in columns for kind in _KINDS]
        return any(self.files.stats_parsed(path) is not None for path in paths)

    def parsed(self, columns: Sequence[StatisticsColumn]) -> StatisticsBatch:
        return StatisticsBatch(
            num_records=self._statistic(("numRecords",), pa.int64()),
            columns={
                column.path: ColumnStatistics(
                    minimum=self._statistic(("minValues", *column.path), extreme_type(column)),
                    maximum=self._statistic(("maxValues", *column.path), extreme_type(column)),
                    null_count=self._statistic(("nullCount", *column.path), pa.int64()),
                )
                for column in columns
            },
        )

    def _statistic(self, path: tuple[str, ...], target: pa.DataType) -> pa.Array:
        stored = None if pa.types.is_null(target) else self.files.stats_parsed(path)
        array = self._select(stored)
        if array is not None:
            array = _widened(array, target)
        if array is not None:
            return array
        selection = self.selection
        return pa.nulls(len(self.files) if selection is None else pc.sum(selection).as_py(), target)

    def _select(self, array: pa.Array | None) -> pa.Array | None:
        return array if array is None or self.selection is None else array.filter(self.selection)


def _widened(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Cast a typed column to the current type of its column; None if that is not a widening."""
    if array.type == target:
        return array
    if _is_text(array.type) != _is_text(target):
        return None  # a cast would parse or format text, which is not a type widening
    try:
        return array.cast(target, safe=not pa.types.is_timestamp(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _incomplete(parsed: StatisticsBatch, columns: Sequence[StatisticsColumn]) -> pa.BooleanArray:
    """Return a mask of the files that lack a needed typed statistic."""
    uncounted = parsed.num_records.is_null()
    incomplete = pa.repeat(light.FALSE, len(uncounted))
    for column in columns:
        known = parsed.columns[column.path]
        if NeededStatistics.NULL_COUNT in column.needed:
            incomplete = pc.or_(incomplete, pc.or_(uncounted, known.null_count.is_null()))
        if NeededStatistics.EXTREMES in column.needed:
            lacking = pc.or_(known.minimum.is_null(), known.maximum.is_null())
            # A column of nulls has no minimum or maximum, in JSON either.
            all_null = pc.fill_null(pc.equal(known.null_count, parsed.num_records), light.FALSE)
            incomplete = pc.or_(incomplete, pc.and_not(lacking, all_null))
    return incomplete


def _merged(
    parsed: StatisticsBatch, decoded: StatisticsBatch, mask: pa.BooleanArray
) -> StatisticsBatch:
    def merge(first: pa.Array, second: pa.Array) -> pa.Array:
        spread = pc.replace_with_mask(pa.nulls(len(mask), second.type), mask, second)
        return pc.coalesce(first, spread)

    return StatisticsBatch(
        num_records=merge(parsed.num_records, decoded.num_records),
        columns={
            path: ColumnStatistics(
                minimum=merge(known.minimum, decoded.columns[path].minimum),
                maximum=merge(known.maximum, decoded.columns[path].maximum),
                null_count=merge(known.null_count, decoded.columns[path].null_count),
            )
            for path, known in parsed.columns.items()
        },
    )
