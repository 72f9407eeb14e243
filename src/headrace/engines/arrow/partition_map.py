"""Partition values as a checkpoint stores them: a map in every row, its texts dictionary-coded.

Where all rows have the same keys in the same order, as writers make them, each row's values
are a few small integers. A predicate then need be evaluated once for each combination that
occurs, not once for each row.
"""

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_MOST_COMBINATIONS = 1 << 20


class PartitionTexts(msgspec.Struct, frozen=True):
    """Partition values by column: what skipping needs of files when it needs no statistics."""

    columns: dict[str, pa.Array]
    size: int

    def __len__(self) -> int:
        return self.size

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """The text of one partition value of each entry."""
        return self.columns[physical_name]

    def stats_json(self) -> None:
        """None: partition values are all there is."""

    def stats_parsed(self, leaf: tuple[str, ...]) -> None:
        """None: partition values are all there is."""


class Combinations(msgspec.Struct, frozen=True):
    """The combinations of values that occur, and which of them each row has."""

    texts: PartitionTexts
    row_codes: npt.NDArray[np.int64]


def combinations(values: pa.MapArray, names: tuple[str, ...]) -> Combinations:
    """Split the maps of a batch into combinations of the named columns. No row may be null."""
    coded = [_codes(values, name) for name in names]
    total, combined = 1, np.zeros(len(values), dtype=np.int64)
    for codes, dictionary in coded:
        combined = combined * (len(dictionary) + 1) + codes
        total *= len(dictionary) + 1
    if total <= _MOST_COMBINATIONS:
        present = np.flatnonzero(np.bincount(combined, minlength=total))
        places = np.zeros(total, dtype=np.int64)
        places[present] = np.arange(len(present))
        rows = places[combined]
    else:
        present, rows = np.unique(combined, return_inverse=True)
    return Combinations(_texts(names, coded, present), rows)


def _texts(
    names: tuple[str, ...],
    coded: list[tuple[npt.NDArray[np.int64], pa.StringArray]],
    present: npt.NDArray[np.int64],
) -> PartitionTexts:
    columns: dict[str, pa.Array] = {}
    rest = present
    for name, (_, dictionary) in reversed(list(zip(names, coded, strict=True))):
        rest, code = np.divmod(rest, len(dictionary) + 1)
        # Code 0 stands for null, so that every other text has its place one further.
        columns[name] = dictionary.take(pa.array(code - 1, mask=code == 0))
    return PartitionTexts(columns, len(present))


def _codes(values: pa.MapArray, name: str) -> tuple[npt.NDArray[np.int64], pa.StringArray]:
    """A code for each row, zero for null, and the texts that the codes from one on stand for."""
    keys, items = values.keys, values.items
    width = len(items) // len(values) if len(values) else 0
    uniform = width and len(items) == width * len(values) and _is_uniform(values, width)
    if uniform and pa.types.is_dictionary(keys.type) and pa.types.is_dictionary(items.type):
        key_codes = keys.indices.to_numpy(zero_copy_only=False).reshape(-1, width)
        if (key_codes == key_codes[0]).all():
            names = [keys.dictionary[int(code)].as_py() for code in key_codes[0]]
            if names.count(name) == 1:
                indices = pc.fill_null(items.indices, -1).to_numpy(zero_copy_only=False)
                column = indices.reshape(-1, width)[:, names.index(name)]
                return column.astype(np.int64) + 1, items.dictionary.cast(pa.string())
    return _codes_of_any_layout(values, name)


def _is_uniform(values: pa.MapArray, width: int) -> bool:
    offsets = values.offsets.to_numpy(zero_copy_only=False)
    return bool((np.diff(offsets) == width).all())


def _codes_of_any_layout(
    values: pa.MapArray, name: str
) -> tuple[npt.NDArray[np.int64], pa.StringArray]:
    plain = values.cast(pa.map_(pa.string(), pa.string()))
    encoded = pc.map_lookup(plain, query_key=name, occurrence="first").dictionary_encode()
    indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64) + 1, encoded.dictionary
