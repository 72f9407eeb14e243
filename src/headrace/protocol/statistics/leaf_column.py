"""A few leaves of the statistics of many files, read by a compiled loop into Arrow columns."""

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
    """What the texts say, a column for each leaf."""

    columns: dict[Path, pa.Array]

    def integers(self, leaf: Path) -> pa.Int64Array:
        """A leaf that is an integer."""
        return self.columns[leaf]

    def booleans(self, leaf: Path) -> pa.BooleanArray:
        """A leaf that is true or false."""
        return self.columns[leaf].cast(pa.bool_())

    def strings(self, leaf: Path) -> pa.StringArray:
        """A leaf that is a string."""
        return self.columns[leaf]

    def doubles(self, leaf: Path) -> pa.DoubleArray:
        """A leaf that is a number."""
        return self.columns[leaf].cast(pa.float64())

    def decimals(self, leaf: Path, data_type: DecimalType, rounding: str) -> pa.Array:
        """A leaf that is a number, as a decimal."""
        texts = self.columns[leaf]
        try:
            # Arrow does not notice an overflow: the widest type holds 38 digits at any scale.
            return texts.cast(pa.decimal256(76, data_type.scale)).cast(arrow_type(data_type))
        except pa.ArrowInvalid:  # one is longer than the type
            numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
            return decimal_array(numbers, data_type, rounding)


def read_columns(texts: pa.BinaryArray, leaves: Mapping[Path, type]) -> LeafColumns | None:
    """What these texts say about these leaves; None if any of them is unusual."""
    found = read_leaves(texts, {leaf: _KINDS[kind] for leaf, kind in leaves.items()})
    return None if found is None else LeafColumns(found)
