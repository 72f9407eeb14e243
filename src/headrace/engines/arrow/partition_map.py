"""Partition values as a checkpoint stores them: a map in every row, its texts dictionary-coded.

Where all rows have the same keys in the same order, as writers make them, each row's values
are a few small integers. A predicate is then evaluated once for each text that occurs, not
once for each row.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.partition_verdicts import PartitionTexts, PartitionVerdicts

_MOST_COMBINATIONS = 1 << 16


class _CodedColumn(msgspec.Struct, frozen=True):
    """One partition column: a code for each row, and the texts that codes stand for.

    The last text is null, and so is the one that code -1 stands for.
    """

    codes: npt.NDArray[np.int32]
    texts: pa.StringArray


def rows_that_may_match(
    values: pa.MapArray, conjuncts: Sequence[PartitionVerdicts]
) -> npt.NDArray[np.bool_]:
    """Whether each row may match all of these. No row may be null."""
    layout = UniformLayout.of(values)
    mask = np.ones(len(values), dtype=np.bool_)
    for part in conjuncts:
        coded = [_coded(values, layout, name) for name in part.names]
        mask &= _may_match(part, coded, rows=len(values))
        if not mask.any():
            break
    return mask


def _may_match(
    part: PartitionVerdicts, coded: list[_CodedColumn], *, rows: int
) -> npt.NDArray[np.bool_]:
    """One conjunct: judged for every combination of texts, and looked up for every row."""
    sizes = [len(column.texts) for column in coded]
    if prod(sizes) > _MOST_COMBINATIONS:
        texts = {
            name: column.texts.take(pa.array(column.codes % len(column.texts)))
            for name, column in zip(part.names, coded, strict=True)
        }
        every: npt.NDArray[np.bool_] = part.on_files(PartitionTexts(texts, rows)).to_numpy(
            zero_copy_only=False
        )
        return every
    combinations = list(product(*(column.texts.to_pylist() for column in coded)))
    verdicts = np.array(part.on(combinations), dtype=np.bool_).reshape(sizes)
    found = verdicts[tuple(column.codes for column in coded)]
    return np.broadcast_to(found, rows)  # a part without columns has one verdict for all


class UniformLayout(msgspec.Struct, frozen=True):
    """Maps that all have the same keys in the same order."""

    names: list[str]
    codes: npt.NDArray[np.int32]
    """A row for each map, and a code for each of its values; -1 is null."""
    texts: pa.StringArray
    """What the codes stand for; the last one is null."""

    @classmethod
    def of(cls, values: pa.MapArray) -> "UniformLayout | None":
        """The layout of some maps; None where they differ, or are not coded."""
        keys, items = values.keys, values.items
        width = len(items) // len(values) if len(values) else 0
        if not width or len(items) != width * len(values):
            return None
        if not (pa.types.is_dictionary(keys.type) and pa.types.is_dictionary(items.type)):
            return None
        offsets = values.offsets.to_numpy(zero_copy_only=False)
        if not (np.diff(offsets) == width).all():
            return None
        key_codes = keys.indices.to_numpy(zero_copy_only=False)
        if not (key_codes[width:] == key_codes[:-width]).all():
            return None
        indices = items.indices if not items.null_count else pc.fill_null(items.indices, -1)
        texts = items.dictionary.cast(pa.string())
        return cls(
            [keys.dictionary[int(code)].as_py() for code in key_codes[:width]],
            indices.to_numpy(zero_copy_only=False).reshape(-1, width),
            pa.concat_arrays([texts, pa.nulls(1, pa.string())]),
        )

    def filter(self, mask: pa.BooleanArray) -> "UniformLayout":
        """The maps for which the mask is true."""
        chosen = self.codes[mask.to_numpy(zero_copy_only=False)]
        return UniformLayout(self.names, chosen, self.texts)

    def plain_maps(self) -> pa.MapArray:
        """The same maps with texts in place of codes."""
        size, width = self.codes.shape
        codes = self.codes.ravel()
        if (codes < 0).any():
            codes = codes % len(self.texts)
        return pa.MapArray.from_arrays(
            pa.array(np.arange(0, (size + 1) * width, width, dtype=np.int32)),
            _repeated(tuple(self.names), 1 << size.bit_length()).slice(0, size * width),
            self.texts.take(pa.array(codes)),
        )


@lru_cache(maxsize=2)
def _repeated(names: tuple[str, ...], times: int) -> pa.StringArray:
    """The names again and again. Batches are of few sizes, so that it pays to keep it."""
    places = np.tile(np.arange(len(names), dtype=np.int32), times)
    return pa.array(names, pa.string()).take(pa.array(places))


def _coded(values: pa.MapArray, layout: UniformLayout | None, name: str) -> _CodedColumn:
    if layout is not None and layout.names.count(name) == 1:
        return _CodedColumn(layout.codes[:, layout.names.index(name)], layout.texts)
    plain = values.cast(pa.map_(pa.string(), pa.string()))
    encoded = pc.map_lookup(plain, query_key=name, occurrence="first").dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return _CodedColumn(codes, pa.concat_arrays([encoded.dictionary, pa.nulls(1, pa.string())]))
