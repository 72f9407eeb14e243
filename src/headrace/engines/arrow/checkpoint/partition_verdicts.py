"""Evaluates a predicate on partition values once per combination, and caches the verdicts.

A table has many files and few partitions. Evaluating a predicate takes a dozen Arrow calls, so
caching the verdicts pays off over all commits and row groups of an execution.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
import pyarrow as pa

from headrace.expr.node import And, BoundPredicate
from headrace.expr.reference import evaluated_columns
from headrace.protocol import light
from headrace.replay.skipping import SplitPredicate, keep_mask, split_predicate

Combination: TypeAlias = tuple[str | None, ...]

_MAX_REMEMBERED = 1 << 16


class PartitionTexts(msgspec.Struct, frozen=True):
    """Partition values by column: all that data skipping needs without statistics."""

    columns: dict[str, pa.Array]
    size: int

    def __len__(self) -> int:
        return self.size

    def partition_text(self, physical_name: str) -> pa.StringArray:
        """Return one partition value of each entry, as a string."""
        return self.columns[physical_name]

    def stats_json(self) -> None:
        """Return None: there are only partition values."""

    def stats_parsed(self, path: tuple[str, ...]) -> None:
        """Return None: there are only partition values."""


class PartitionVerdicts:
    """A predicate on partition columns. Threads may share it: a race only repeats work."""

    def __init__(self, predicate: BoundPredicate) -> None:
        self._predicate = predicate
        self.names = tuple(column.physical_path[0] for column in evaluated_columns(predicate))
        self._known: dict[Combination, bool] = {}

    def on(self, combinations: Sequence[Combination]) -> list[bool]:
        """Return whether files with these values, in the order of `names`, may match."""
        known = self._known
        new = {combination for combination in combinations if combination not in known}
        if new and len(known) + len(new) > _MAX_REMEMBERED:
            known = self._known = {}
            new = set(combinations)
        if new:
            ordered = list(new)
            columns = {
                name: light.array([combination[place] for combination in ordered], pa.string())
                for place, name in enumerate(self.names)
            }
            verdicts = self.on_files(PartitionTexts(columns, len(ordered)))
            known.update(zip(ordered, verdicts.to_pylist(), strict=True))
        return [known[combination] for combination in combinations]

    def learn(self, texts: Iterable[str | None]) -> None:
        """Evaluate these values together in advance, if the predicate has one column."""
        if len(self.names) == 1:
            self.on([(text,) for text in texts])

    def on_files(self, texts: PartitionTexts) -> pa.BooleanArray:
        """Return whether each file may match, without the cache."""
        return keep_mask(self._predicate, texts)


class JudgedPredicate(msgspec.Struct, frozen=True):
    """A predicate, and the cached verdicts of the part that partition values decide."""

    split: SplitPredicate
    verdicts: tuple[PartitionVerdicts, ...]
    """One per conjunct: one column has fewer values than several have combinations."""

    @classmethod
    def of(cls, predicate: BoundPredicate) -> "JudgedPredicate":
        """Split a predicate; no verdicts are cached yet."""
        split = split_predicate(predicate)
        parts = split.by_partition
        conjuncts = parts.parts if isinstance(parts, And) else (parts,) if parts else ()
        return cls(split, tuple(map(PartitionVerdicts, conjuncts)))
