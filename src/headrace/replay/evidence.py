"""The statistics of a batch of files, wherever the log keeps them.

A checkpoint may have them as typed columns, as JSON text, or both, and its typed columns may
lag behind the table's schema. Per file and leaf, the typed value counts if there is one, else
the JSON; the text is decoded only for the files that need it.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.protocol.statistics import (
    ColumnStatistics,
    FileStatistics,
    StatisticsColumn,
    Wanted,
    decode_statistics,
    extreme_type,
)
from headrace.protocol.statistics_json import statistics_decoder

_RECORDS = ("numRecords",)
_KINDS = ("minValues", "maxValues", "nullCount")


class StatisticsSource(Protocol):
    """A batch of files, as far as their statistics are concerned."""

    def __len__(self) -> int:
        """The number of files."""

    def stats_json(self) -> pa.StringArray | None:
        """The statistics as text; None if the source has no such column."""

    def stats_parsed(self, leaf: tuple[str, ...]) -> pa.Array | None:
        """A typed leaf, such as `("minValues", "a", "b")`; None if it is not there."""


def read_statistics(
    files: StatisticsSource,
    columns: Sequence[StatisticsColumn],
    *,
    selection: pa.BooleanArray | None,
) -> FileStatistics:
    """Collect what is known about these columns, for the selected files or for all."""
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
    """The number of rows of each file, deleted ones included; null where nothing says it."""
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
        """Whether there is any typed statistic of these columns."""
        leaves: list[tuple[str, ...]] = [("numRecords",)]
        leaves += [(kind, *c.path) for c in columns for kind in _KINDS]
        return any(self.files.stats_parsed(leaf) is not None for leaf in leaves)

    def parsed(self, columns: Sequence[StatisticsColumn]) -> FileStatistics:
        return FileStatistics(
            num_records=self._leaf(("numRecords",), pa.int64()),
            columns={
                column.path: ColumnStatistics(
                    minimum=self._leaf(("minValues", *column.path), extreme_type(column)),
                    maximum=self._leaf(("maxValues", *column.path), extreme_type(column)),
                    null_count=self._leaf(("nullCount", *column.path), pa.int64()),
                )
                for column in columns
            },
        )

    def _leaf(self, leaf: tuple[str, ...], target: pa.DataType) -> pa.Array:
        found = None if pa.types.is_null(target) else self.files.stats_parsed(leaf)
        array = self._select(found)
        if array is not None:
            array = _widened(array, target)
        if array is not None:
            return array
        kept = self.selection
        return pa.nulls(len(self.files) if kept is None else pc.sum(kept).as_py(), target)

    def _select(self, array: pa.Array | None) -> pa.Array | None:
        return array if array is None or self.selection is None else array.filter(self.selection)


def _widened(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    """A typed leaf in the column's type of today; None if the one does not lead to the other."""
    if array.type == target:
        return array
    if _is_text(array.type) != _is_text(target):
        return None  # a cast would read or write the text, and nobody widens like that
    try:
        return array.cast(target, safe=not pa.types.is_timestamp(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _incomplete(parsed: FileStatistics, columns: Sequence[StatisticsColumn]) -> pa.BooleanArray:
    """The files of which the typed columns do not tell all that they could."""
    uncounted = parsed.num_records.is_null()
    incomplete = pa.repeat(False, len(uncounted))
    for column in columns:
        known = parsed.columns[column.path]
        if Wanted.NULL_COUNT in column.wanted:
            incomplete = pc.or_(incomplete, pc.or_(uncounted, known.null_count.is_null()))
        if Wanted.EXTREMES in column.wanted:
            lacking = pc.or_(known.minimum.is_null(), known.maximum.is_null())
            # A column of nulls has no extremes, here or in the text.
            all_null = pc.fill_null(pc.equal(known.null_count, parsed.num_records), False)
            incomplete = pc.or_(incomplete, pc.and_not(lacking, all_null))
    return incomplete


def _merged(
    parsed: FileStatistics, decoded: FileStatistics, mask: pa.BooleanArray
) -> FileStatistics:
    def merge(first: pa.Array, second: pa.Array) -> pa.Array:
        spread = pc.replace_with_mask(pa.nulls(len(mask), second.type), mask, second)
        return pc.coalesce(first, spread)

    return FileStatistics(
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
