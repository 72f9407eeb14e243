"""Numbers for the partitions of entries, so that columns are sorted and cut by number.

The text columns of partition values enter; an integer column leaves. Each distinct combination of
values is kept once, however many entries have it.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.protocol import light
from headrace.protocol.partition_bounds import sort_key
from headrace.protocol.schema import DataType

Codes: TypeAlias = npt.NDArray[np.int64]


class PartitionCodes:
    """Numbers combinations of partition values in the order in which they first occur."""

    def __init__(self, types: Mapping[str, DataType]) -> None:
        self.types = types
        self._numbers: dict[tuple[str | None, ...], int] = {}
        self._values: list[tuple[str | None, ...]] = []
        self._sort_keys: list[Any] = []

    def encode(self, texts: Sequence[pa.Array], *, size: int) -> Codes:
        """Return the number of each row's partition, given one text column per partition column."""
        codes = np.zeros(size, np.int64)
        if not size:
            return codes
        combinations: list[tuple[str | None, ...]] = [()]
        for text in texts:
            column = text.dictionary_encode(null_encoding="encode")
            words = column.dictionary.to_pylist()
            pairs = codes * len(words) + light.to_numpy(column.indices)
            # Only the combinations that occur are numbered, so the product cannot overflow.
            distinct, codes = np.unique(pairs, return_inverse=True)
            combinations = [
                (*combinations[pair // len(words)], words[pair % len(words)])
                for pair in distinct.tolist()
            ]
        return np.array([self._number(values) for values in combinations], np.int64)[codes]

    def values(self, number: int) -> dict[str, str | None]:
        """Return the values of a partition by column."""
        return dict(zip(self.types, self._values[number], strict=True))

    def ranks(self) -> Codes:
        """Return the rank of each partition in partition order; equal values have equal ranks."""
        return self._ranked(range(len(self._values)))

    def ranks_among(self, codes: Codes) -> Codes:
        """Return the rank of each row among the partitions of these rows alone."""
        distinct, rows = np.unique(codes, return_inverse=True)
        return self._ranked(distinct.tolist())[rows]

    def _ranked(self, numbers: Sequence[int]) -> Codes:
        keys = self._sort_keys
        for number in range(len(keys), len(self._values)):
            keys.append(sort_key(self.values(number), self.types))
        ordered = sorted(range(len(numbers)), key=lambda at: keys[numbers[at]])
        ranks = np.zeros(len(numbers), np.int64)
        groups = groupby(ordered, key=lambda at: keys[numbers[at]])
        for rank, (_, equals) in enumerate(groups):
            ranks[list(equals)] = rank
        return ranks

    def maps(self, codes: Codes) -> pa.DictionaryArray:
        """Return the values of each row as a map; a null value has no key."""
        distinct, rows = np.unique(codes, return_inverse=True)
        pairs = [
            [(name, text) for name, text in self.values(int(n)).items() if text is not None]
            for n in distinct
        ]
        offsets = np.zeros(len(pairs) + 1, np.int32)
        np.cumsum([len(some) for some in pairs], out=offsets[1:])
        dictionary = pa.MapArray.from_arrays(
            light.from_numpy(offsets),
            light.array([name for some in pairs for name, _ in some], pa.string()),
            light.array([text for some in pairs for _, text in some], pa.string()),
        )
        return pa.DictionaryArray.from_arrays(light.from_numpy(rows.astype(np.int32)), dictionary)

    def _number(self, values: tuple[str | None, ...]) -> int:
        number = self._numbers.setdefault(values, len(self._values))
        if number == len(self._values):
            self._values.append(values)
        return number
