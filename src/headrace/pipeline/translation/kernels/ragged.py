"""Arrays and maps taken apart: their elements in one flat column, and where each belongs.

A function of every element is computed once, over all elements of all rows.
"""

from typing import Any

import numpy as np
import pyarrow as pa


class SparkKeyError(KeyError):
    """What Spark raises for a map with a key that is null or comes twice."""


class Ragged:
    """The rows of a column of arrays or maps, as lengths and places in its elements."""

    def __init__(self, rows: pa.Array) -> None:
        """Take a column; a slice of one too."""
        self.valid: Any = rows.is_valid().to_numpy(zero_copy_only=False)
        offsets = rows.offsets.to_numpy()
        self.lengths: Any = np.where(self.valid, np.diff(offsets), 0)
        self.parents: Any = np.repeat(np.arange(len(rows)), self.lengths)
        """By element, its row."""
        self.positions: Any = np.arange(len(self.parents)) - np.repeat(
            np.cumsum(self.lengths) - self.lengths, self.lengths
        )
        """By element, its place in its row, from 0."""
        self._places: Any = np.repeat(offsets[:-1], self.lengths) + self.positions

    def flat(self, child: pa.Array) -> pa.Array:
        """The elements of all rows: of an array its `values`, of a map `keys` or `items`."""
        return child.take(pa.array(self._places, pa.int64()))

    def repeat(self, column: pa.Array) -> pa.Array:
        """A value of each row once for each of the row's elements."""
        return column.take(pa.array(self.parents, pa.int64()))

    def arrays(self, values: pa.Array, kind: pa.DataType) -> pa.Array:
        """Arrays of the same shape with other elements."""
        return arrays_of(values, self.lengths, self.valid, kind)

    def kept(self, keep: Any) -> Any:
        """The lengths of the rows with only some of the elements."""
        return np.bincount(self.parents[keep], minlength=len(self.lengths))


def arrays_of(values: pa.Array, lengths: Any, valid: Any, kind: pa.DataType) -> pa.Array:
    """Arrays of a flat column, given how many elements each row has."""
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    typed = values.cast(kind.value_type)
    return pa.ListArray.from_arrays(offsets, typed, type=kind, mask=pa.array(~valid))


def maps_of(
    keys: pa.Array, items: pa.Array, lengths: Any, valid: Any, kind: pa.DataType
) -> pa.Array:
    """Maps of flat keys and values, given how many entries each row has."""
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    typed = keys.cast(kind.key_type), items.cast(kind.item_type)
    return pa.MapArray.from_arrays(offsets, *typed, type=kind, mask=pa.array(~valid))


def check_keys(parents: Any, keys: pa.Array) -> None:
    """Make sure that the keys of each row are there, and different.

    Raises:
        SparkKeyError: as Spark does.
    """
    if keys.null_count:
        raise SparkKeyError("a key of a map is null")
    entries = pa.table({"row": pa.array(parents), "key": keys})
    if entries.group_by(["row", "key"]).aggregate([]).num_rows < len(keys):
        raise SparkKeyError("a key of a map comes twice")
