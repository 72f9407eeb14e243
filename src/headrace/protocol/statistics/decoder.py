"""Decode a few leaves of the statistics of many files in one call.

The compiled loop is fastest, but accepts only valid JSON whose values have the type of their
leaves. For anything else, decoding falls back to msgspec, with one object per file.
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
    """The values of some leaves in each document; null where absent or of another type."""

    def integers(self, leaf: Path) -> pa.Int64Array:
        """Return the values of an integer leaf."""

    def booleans(self, leaf: Path) -> pa.BooleanArray:
        """Return the values of a boolean leaf."""

    def strings(self, leaf: Path) -> pa.StringArray:
        """Return the values of a string leaf."""

    def doubles(self, leaf: Path) -> pa.DoubleArray:
        """Return the values of a numeric leaf."""

    def decimals(self, leaf: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """Return the values of a numeric leaf as decimals, rounded to the type if longer."""


class StatisticsDecoder(msgspec.Struct, frozen=True):
    """Decodes JSON documents for one set of leaves."""

    leaves: dict[Path, type]
    rows: RowDecoder

    def decode(self, texts: pa.StringArray) -> LeafValues:
        """Decode these documents, by the compiled loop if it accepts them."""
        raw = texts.cast(pa.binary())
        columns = read_columns(raw, self.leaves)
        return self.rows.decode(raw) if columns is None else columns


@lru_cache(maxsize=64)
def statistics_decoder(leaves: tuple[tuple[Path, type], ...]) -> StatisticsDecoder:
    """Return a decoder for these leaves, each with its JSON type."""
    return StatisticsDecoder(dict(leaves), row_decoder(dict(leaves)))
