"""Decode a few leaves of the statistics of many files in one call.

The compiled loop is the fastest way, but takes only valid JSON whose values have the type of their
leaves. Everything else is decoded by msgspec, an object per file.
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
    """What each text says about some leaves; null where that is nothing, or of another type."""

    def integers(self, leaf: Path) -> pa.Int64Array:
        """A leaf that is an integer."""

    def booleans(self, leaf: Path) -> pa.BooleanArray:
        """A leaf that is true or false."""

    def strings(self, leaf: Path) -> pa.StringArray:
        """A leaf that is a string."""

    def doubles(self, leaf: Path) -> pa.DoubleArray:
        """A leaf that is a number."""

    def decimals(self, leaf: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """A leaf that is a number, as a decimal; one that is longer than the type is rounded."""


class StatisticsDecoder(msgspec.Struct, frozen=True):
    """Decodes texts for one set of leaves."""

    leaves: dict[Path, type]
    rows: RowDecoder

    def decode(self, texts: pa.StringArray) -> LeafValues:
        """Decode these texts."""
        raw = texts.cast(pa.binary())
        columns = read_columns(raw, self.leaves)
        return self.rows.decode(raw) if columns is None else columns


@lru_cache(maxsize=64)
def statistics_decoder(leaves: tuple[tuple[Path, type], ...]) -> StatisticsDecoder:
    """A decoder for these leaves, each with its type in JSON."""
    return StatisticsDecoder(dict(leaves), row_decoder(dict(leaves)))
