"""Decode a few leaves of the statistics of many files into Arrow columns, by a compiled loop.

JSON documents and leaf types enter; typed columns leave, or None if a document is unusual.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec
import pyarrow as pa

from headrace.compiled.statistics import Kind, Path, read_leaves
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DecimalType
from headrace.protocol.statistics.value import decimal_array

_KINDS = {
    int: Kind.INTEGER,
    bool: Kind.BOOLEAN,
    str: Kind.STRING,
    float: Kind.NUMBER,
    Decimal: Kind.DECIMAL,
}


class LeafColumns(msgspec.Struct, frozen=True):
    """The decoded statistics, one column per leaf."""

    columns: dict[Path, pa.Array]

    def integers(self, leaf: Path) -> pa.Int64Array:
        """Return the values of an integer leaf."""
        return self.columns[leaf]

    def booleans(self, leaf: Path) -> pa.BooleanArray:
        """Return the values of a boolean leaf."""
        return self.columns[leaf].cast(pa.bool_())

    def strings(self, leaf: Path) -> pa.StringArray:
        """Return the values of a string leaf."""
        return self.columns[leaf]

    def doubles(self, leaf: Path) -> pa.DoubleArray:
        """Return the values of a numeric leaf."""
        return self.columns[leaf].cast(pa.float64())

    def decimals(self, leaf: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """Return the values of a numeric leaf as decimals."""
        texts = self.columns[leaf]
        try:
            # Arrow does not detect overflow, but the widest type holds 38 digits at any scale.
            return texts.cast(pa.decimal256(76, data_type.scale)).cast(arrow_type(data_type))
        except pa.ArrowInvalid:  # a value has more digits than the type
            numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
            return decimal_array(numbers, data_type, rounding)


def read_columns(texts: pa.BinaryArray, leaves: Mapping[Path, type]) -> LeafColumns | None:
    """Decode these leaves of these documents; None if any document is unusual."""
    columns = read_leaves(texts, {leaf: _KINDS[kind] for leaf, kind in leaves.items()})
    return None if columns is None else LeafColumns(columns)
