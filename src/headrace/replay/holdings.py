"""Immutable sets of packed keys, in memory and on disk, that several seen sets share.

Keys enter once, in layers; every set that holds a layer answers which keys are in it.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import msgspec

from headrace.replay.spill import Spill


class Layer(msgspec.Struct, frozen=True):
    """An immutable view of a spill, which may grow meanwhile."""

    spill: Spill
    stop: int
    """Rounds from this one on are not part of the view."""
    without: frozenset[int] = frozenset()
    """Earlier rounds that are excluded as well."""

    def held(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return the given keys that are in this view."""
        return {key for key, number in self.spill.find(keys).items() if self._includes(number)}

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, number in self.spill.scan() if self._includes(number))

    def __len__(self) -> int:
        return self.spill.length(filter(self._includes, range(self.stop)))

    def _includes(self, number: int) -> bool:
        return number < self.stop and number not in self.without


class Holdings(msgspec.Struct, frozen=True):
    """Immutable keys: to add to a set in memory, copy it first. No key is in two parts."""

    memory: tuple[set[bytes], ...] = ()
    layers: tuple[Layer, ...] = ()

    def held(self, keys: Collection[bytes]) -> set[bytes]:
        """Return the given keys that are held here; the disk is queried in bulk."""
        held: set[bytes] = set()
        for part in self.memory:
            held |= part.intersection(keys)
        for layer in self.layers:
            held |= layer.held(set(keys) - held)
        return held

    def __iter__(self) -> Iterator[bytes]:
        return chain(*self.memory, *self.layers)

    def __len__(self) -> int:
        return sum(map(len, self.memory)) + sum(map(len, self.layers))
