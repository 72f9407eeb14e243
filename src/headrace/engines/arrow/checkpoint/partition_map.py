"""Evaluates predicates on partition values that are stored as dictionary-coded maps.

Writers usually give all rows the same keys in the same order; then the values of a row are a few
small integers. A predicate is evaluated once for each string that occurs, not once for each row.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.arrow.checkpoint.coded_map import CodedMaps, MapPages, PageCodes
from headrace.engines.arrow.checkpoint.partition_verdicts import PartitionTexts, PartitionVerdicts
from headrace.engines.arrow.checkpoint.uniform_layout import UniformLayout
from headrace.protocol import light

_MAX_COMBINATIONS = 1 << 16


class _Verdicts(msgspec.Struct, frozen=True):
    """The verdict of one conjunct on each combination of codes."""

    places: tuple[int, ...]
    """The positions, in a row of codes, of the columns of the conjunct."""
    table: npt.NDArray[np.bool_]

    def on_rows(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if len(self.places) == 1:
            return self.table.take(codes[:, self.places[0]])  # faster than indexing
        verdicts: npt.NDArray[np.bool_] = self.table[
            tuple(codes[:, place] for place in self.places)
        ]
        return np.broadcast_to(verdicts, len(codes))  # without columns: one verdict for all


class CodedPredicate(msgspec.Struct, frozen=True):
    """A predicate on maps that share their key names and their dictionary."""

    width: int
    """The number of values per map."""
    texts: int
    """The number of codes that have a string."""
    conjuncts: tuple[_Verdicts, ...]

    @classmethod
    def of(
        cls,
        conjuncts: Sequence[PartitionVerdicts],
        names: Sequence[str],
        texts: Sequence[str | None],
    ) -> "CodedPredicate | None":
        """Evaluate every combination; None if there are too many, or a name does not occur once.

        The last string must be null: code -1 also means null.
        """
        verdicts = []
        for part in conjuncts:
            sizes = (len(texts),) * len(part.names)
            if prod(sizes) > _MAX_COMBINATIONS or any(names.count(n) != 1 for n in part.names):
                return None
            combinations = list(product(texts, repeat=len(part.names)))
            table = np.array(part.on(combinations), dtype=np.bool_).reshape(sizes)
            verdicts.append(_Verdicts(tuple(map(names.index, part.names)), table))
        return cls(len(names), len(texts) - 1, tuple(verdicts))

    @property
    def can_be_true(self) -> bool:
        """Whether a row may match, judged by the strings alone."""
        return all(part.table.any() for part in self.conjuncts)

    def by_value(self) -> npt.NDArray[np.uint8] | None:
        """Return the verdict on each value and code; None if a conjunct has several columns."""
        table = np.ones((self.width, self.texts), dtype=np.uint8)
        for part in self.conjuncts:
            if len(part.places) != 1:
                return None
            table[part.places[0]] &= part.table[: self.texts]
        return table

    def on_pages(self, pages: Iterable[PageCodes]) -> npt.NDArray[np.bool_]:
        """Return whether each map of the pages may match.

        Raises:
            ValueError: a code has no string, or a page ends within a map.
        """
        masks = [np.zeros(0, np.bool_)]
        for page in pages:
            codes = page.rows(self.width)
            if codes.max(initial=0) >= self.texts:
                raise ValueError("a code is not in the dictionary")
            masks.append(self.on_rows(codes))
        return np.concatenate(masks)

    def on_rows(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return whether each row may match."""
        mask = np.ones(len(codes), dtype=np.bool_)
        for part in self.conjuncts:
            mask &= part.on_rows(codes)
            if not mask.any():
                break
        return mask


def rows_that_may_match(
    values: pa.MapArray, conjuncts: Sequence[PartitionVerdicts]
) -> npt.NDArray[np.bool_]:
    """Return whether each row may match all conjuncts. No row may be null."""
    layout = UniformLayout.of(values)
    if layout is not None:
        coded = CodedPredicate.of(conjuncts, layout.names, layout.texts.to_pylist())
        if coded is not None:
            return coded.on_rows(layout.codes)
    plain = values.cast(pa.map_(pa.string(), pa.string()))
    mask = np.ones(len(values), dtype=np.bool_)
    for part in conjuncts:
        texts = {
            name: _checked(pc.map_lookup(plain, query_key=light.scalar(name), occurrence="first"))
            for name in part.names
        }
        may_match = part.on_files(PartitionTexts(texts, len(values)))
        mask &= light.to_numpy(may_match)
    return mask


def _checked(texts: pa.StringArray) -> pa.StringArray:
    """Validate strings, which Arrow otherwise checks only on access.

    Raises:
        pa.ArrowInvalid: one of them is not UTF-8.
    """
    return texts.cast(pa.binary()).cast(pa.string())


def coded_rows_that_may_match(
    maps: CodedMaps, conjuncts: Sequence[PartitionVerdicts], read: Callable[[CodedMaps], MapPages]
) -> npt.NDArray[np.bool_] | None:
    """Return the same mask without building the maps; None if their codes do not decide it.

    `read` is called for their pages, if those can decide it.
    """
    coded = CodedPredicate.of(conjuncts, maps.keys.names, (*maps.texts, None))
    if coded is None:
        return None
    try:
        pages = read(maps)
    except (OSError, IndexError):  # Arrow reports the error
        return None
    if not coded.can_be_true and pages.have_no_other_texts():
        return np.zeros(len(maps.keys.present), dtype=np.bool_)
    by_value = coded.by_value()
    mask = None if by_value is None else pages.judged(by_value)
    if mask is None:
        try:
            mask = coded.on_pages(pages.codes())
        except ValueError:
            return None
    return pages.mask_of_rows(mask) if len(mask) == maps.keys.count else None
