"""Decode a few leaf columns of the statistics of many files into Arrow columns, by a compiled loop.

JSON documents and the type of each leaf column enter; typed columns leave, or None if a document
is unusual.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec
import pyarrow as pa

from headrace.compiled.statistics import Kind, Path, read_leaf_columns
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
    """The decoded statistics, one Arrow column per leaf column."""

    columns: dict[Path, pa.Array]

    def integers(self, path: Path) -> pa.Int64Array:
        """Return the values of an integer leaf column."""
        return self.columns[path]

    def booleans(self, path: Path) -> pa.BooleanArray:
        """Return the values of a boolean leaf column."""
        return self.columns[path].cast(pa.bool_())

    def strings(self, path: Path) -> pa.StringArray:
        """Return the values of a string leaf column."""
        return self.columns[path]

    def doubles(self, path: Path) -> pa.DoubleArray:
        """Return the values of a numeric leaf column."""
        return self.columns[path].cast(pa.float64())

    def decimals(self, path: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """Return the values of a numeric leaf column as decimals."""
        texts = self.columns[path]
        try:
            # Arrow does not detect overflow, but the widest type holds 38 digits at any scale.
            return texts.cast(pa.decimal256(76, data_type.scale)).cast(arrow_type(data_type))
        except pa.ArrowInvalid:  # a value has more digits than the type
            numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
            return decimal_array(numbers, data_type, rounding)


def read_columns(texts: pa.BinaryArray, types: Mapping[Path, type]) -> LeafColumns | None:
    """Decode the leaf columns of `types` in each document; None if any document is unusual."""
    columns = read_leaf_columns(texts, {path: _KINDS[kind] for path, kind in types.items()})
    return None if columns is None else LeafColumns(columns)
