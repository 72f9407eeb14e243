"""Flattens arrays and maps: all elements in one column, and the row that each belongs to.

A function of every element is computed once, over all elements of all rows.
"""

from typing import Any

import numpy as np
import pyarrow as pa


class SparkKeyError(KeyError):
    """Spark's error for a map with a null or duplicate key."""


class Ragged:
    """The rows of a column of arrays or maps, as lengths and positions in its elements."""

    def __init__(self, rows: pa.Array) -> None:
        """Take a column, which may be a slice."""
        self.valid: Any = rows.is_valid().to_numpy(zero_copy_only=False)
        offsets = rows.offsets.to_numpy()
        self.lengths: Any = np.where(self.valid, np.diff(offsets), 0)
        self.parents: Any = np.repeat(np.arange(len(rows)), self.lengths)
        """The row of each element."""
        self.positions: Any = np.arange(len(self.parents)) - np.repeat(
            np.cumsum(self.lengths) - self.lengths, self.lengths
        )
        """The position of each element in its row, from 0."""
        self._places: Any = np.repeat(offsets[:-1], self.lengths) + self.positions

    def flat(self, child: pa.Array) -> pa.Array:
        """Return the elements of all rows: `values` of an array, `keys` or `items` of a map."""
        return child.take(pa.array(self._places, pa.int64()))

    def repeat(self, column: pa.Array) -> pa.Array:
        """Repeat the value of each row once per element of the row."""
        return column.take(pa.array(self.parents, pa.int64()))

    def arrays(self, values: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return arrays of the same shape with other elements."""
        return arrays_of(values, self.lengths, self.valid, kind)

    def count_where(self, mask: Any) -> Any:
        """Return how many elements of each row a mask over all elements selects."""
        return np.bincount(self.parents[mask], minlength=len(self.lengths))

    def elements_at(self, child: pa.Array, parents: Any, positions: Any) -> pa.Array:
        """Return the element at each position of a row; null where the row is shorter."""
        starts = np.cumsum(self.lengths) - self.lengths
        present = positions < self.lengths[parents]
        places = np.where(present, starts[parents] + positions, 0)
        return self.flat(child).take(pa.array(places, pa.int64(), mask=~present))


def arrays_of(values: pa.Array, lengths: Any, valid: Any, kind: pa.DataType) -> pa.Array:
    """Return the arrays of a flat column, given the number of elements per row."""
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    typed = values.cast(kind.value_type)
    return pa.ListArray.from_arrays(offsets, typed, type=kind, mask=pa.array(~valid))


def maps_of(
    keys: pa.Array, items: pa.Array, lengths: Any, valid: Any, kind: pa.DataType
) -> pa.Array:
    """Return the maps of flat keys and values, given the number of entries per row."""
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    typed = keys.cast(kind.key_type), items.cast(kind.item_type)
    return pa.MapArray.from_arrays(offsets, *typed, type=kind, mask=pa.array(~valid))


def check_keys(parents: Any, keys: pa.Array) -> None:
    """Check that the keys of each row are not null, and distinct.

    Raises:
        SparkKeyError: a key is null or occurs twice, as in Spark.
    """
    if keys.null_count:
        raise SparkKeyError("a key of a map is null")
    entries = pa.table({"row": pa.array(parents), "key": keys})
    if entries.group_by(["row", "key"]).aggregate([]).num_rows < len(keys):
        raise SparkKeyError("a map has a duplicate key")
