"""Packed keys that several sets hold together: some in memory, some on disk, none twice."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import msgspec

from headrace.replay.spill import Spill


class Layer(msgspec.Struct, frozen=True):
    """What may be seen of a spill: it never changes, though the spill may grow."""

    spill: Spill
    stop: int
    """The first round that was written too late."""
    without: frozenset[int] = frozenset()
    """Rounds before it that are left out all the same."""

    def held(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys that are here."""
        return {key for key, number in self.spill.find(keys).items() if self._shows(number)}

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, number in self.spill.scan() if self._shows(number))

    def __len__(self) -> int:
        return self.spill.length(filter(self._shows, range(self.stop)))

    def _shows(self, number: int) -> bool:
        return number < self.stop and number not in self.without


class Holdings(msgspec.Struct, frozen=True):
    """Keys that never change: whoever wants to add to a set in memory copies it before."""

    memory: tuple[set[bytes], ...] = ()
    layers: tuple[Layer, ...] = ()

    def held(self, keys: Collection[bytes]) -> set[bytes]:
        """Those of the keys that are here; a disk is asked for many at once."""
        found: set[bytes] = set()
        for part in self.memory:
            found |= part.intersection(keys)
        for layer in self.layers:
            found |= layer.held(set(keys) - found)
        return found

    def __iter__(self) -> Iterator[bytes]:
        return chain(*self.memory, *self.layers)

    def __len__(self) -> int:
        return sum(map(len, self.memory)) + sum(map(len, self.layers))
