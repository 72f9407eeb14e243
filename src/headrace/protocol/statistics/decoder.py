"""Decode a few leaf columns of the statistics of many files in one call.

The compiled loop is fastest, but accepts only valid JSON whose values have the type of their
leaf columns. For anything else, decoding falls back to msgspec, with one object per file.
"""

from functools import lru_cache
from typing import Protocol

import msgspec
import pyarrow as pa

from headrace.compiled.statistics import Path
from headrace.protocol.schema import DecimalType
from headrace.protocol.statistics.leaf_column import read_columns
from headrace.protocol.statistics.leaf_row import RowDecoder, row_decoder


class LeafValues(Protocol):
    """The values of some leaf columns in each document; null where absent or of another type."""

    def integers(self, path: Path) -> pa.Int64Array:
        """Return the values of an integer leaf column."""

    def booleans(self, path: Path) -> pa.BooleanArray:
        """Return the values of a boolean leaf column."""

    def strings(self, path: Path) -> pa.StringArray:
        """Return the values of a string leaf column."""

    def doubles(self, path: Path) -> pa.DoubleArray:
        """Return the values of a numeric leaf column."""

    def decimals(self, path: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """Return the values of a numeric leaf column as decimals, rounded to the type if longer."""


class StatisticsDecoder(msgspec.Struct, frozen=True):
    """Decodes JSON documents for one set of leaf columns."""

    types: dict[Path, type]
    rows: RowDecoder

    def decode(self, texts: pa.StringArray) -> LeafValues:
        """Decode these documents, by the compiled loop if it accepts them."""
        raw = texts.cast(pa.binary())
        columns = read_columns(raw, self.types)
        return self.rows.decode(raw) if columns is None else columns


@lru_cache(maxsize=64)
def statistics_decoder(types: tuple[tuple[Path, type], ...]) -> StatisticsDecoder:
    """Return a decoder for leaf columns, by path, with their JSON types."""
    return StatisticsDecoder(dict(types), row_decoder(dict(types)))
