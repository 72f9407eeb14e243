"""The seen set: which keys newer commits have already spoken of.

Replay goes newest first, so the first word about a key is the last one that was written.
Adds and removes are both recorded: a re-add hides the older add as well as a remove does.

The set is exact whatever its size. Keys stay in memory up to a limit and then go to disk, again
and again; a filter in front of the disk saves look-ups, and never answers by itself.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

from headrace.errors import NotFrozenError
from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey
from headrace.replay.holdings import Holdings, Layer
from headrace.replay.packed_key import (
    join,
    pack,
    pack_all,
    pack_keys_of,
    paths_of,
    split,
    unpack,
)
from headrace.replay.spill import Spill

DEFAULT_MEMORY_LIMIT_BYTES = 64 << 20
_KEY_OVERHEAD_BYTES = 144
"""What a key takes beside its text: an object, and a place in a table that has just grown."""
_FILTER_SHARE = 8
_LARGEST_FILTER_BYTES = 128 << 20
_LARGEST_CHUNK = 4096
_SHIPPED_KEYS = 1 << 16
_KEYS_AT_ONCE = 1 << 14
_NOTHING = Holdings()


class SeenSet:
    """Keys met so far, filled by one reader that goes newest first.

    The keys of the source that is being read stay apart from those of newer ones: an add is
    tested against strictly newer sources only, because in one commit add(P, dv2) and
    remove(P, dv1) are legal in any order.

    `memory_limit_bytes` bounds what the keys and the filter in front of the disk take. Beside
    it there are a few megabytes that do not grow: a page cache, and the keys that are on their
    way. What goes to disk is gone with the last set that needs it.
    """

    def __init__(
        self,
        keys: Iterable[FileKey] = (),
        *,
        base: Holdings = _NOTHING,
        memory_limit_bytes: int = DEFAULT_MEMORY_LIMIT_BYTES,
    ) -> None:
        self._limit_bytes = memory_limit_bytes
        self._filter_bytes = min(memory_limit_bytes // _FILTER_SHARE, _LARGEST_FILTER_BYTES)
        filters = self._filter_bytes + sum(layer.spill.filter_bytes for layer in base.layers)
        self._room_bytes = max(memory_limit_bytes - filters, memory_limit_bytes >> 1)
        # Packed at once: so few that they do not matter beside the limit.
        self._chunk_keys = min(max(memory_limit_bytes >> 10, 1), _LARGEST_CHUNK)
        self._source: str | None = None
        # No key is in two of these, nor in one of them and on disk.
        self._hidden: set[bytes] = set().union(*base.memory)
        self._fresh: set[bytes] = set()
        # Keys of the current source that newer ones have named: they only tell what is twice.
        self._repeated: set[bytes] = set()
        self._shared = False
        self._memory_bytes = _weight(self._hidden)
        self._below = base.layers
        self._spill: Spill | None = None
        self._rounds_of_source: set[int] = set()
        self._repeated_spill: Spill | None = None
        self._spilled_keys = 0
        remaining = iter(keys)
        while packed := pack_all(islice(remaining, self._chunk_keys)):
            new = set(packed) - self.holdings().held(packed)
            self._fresh |= new
            self._grow_by(_weight(new))
        self._turn_to(None)

    def admit(
        self, source: str, *, adds: Sequence[Add | Remove], removes: Iterable[Add | Remove]
    ) -> Sequence[bool]:
        """Tell which adds no newer source has named, and record the key of every file.

        Raises:
            ValueError: a key stands twice in one source. A part of the source is then recorded:
                go on with `without(source)`, if at all.
            SpillFailedError: the disk did not take the keys. The set is then of no more use.
        """
        if self._shared:
            self._hidden, self._fresh, self._shared = set(self._hidden), set(self._fresh), False
        if source != self._source:
            self._turn_to(source)
        visible: list[bool] = []
        remaining = chain(adds, removes)
        while packed := pack_keys_of(islice(remaining, self._chunk_keys)):
            hidden = self._record(packed)
            of_adds = packed[: len(adds) - len(visible)]
            visible += [key not in hidden for key in of_adds]
        return visible

    def without(self, source: str) -> "SeenSet":
        """The same set as if that source, the last one, had never been met."""
        base = self.holdings()
        if source == self._source:
            base = Holdings((self._hidden,), self._layers(frozenset(self._rounds_of_source)))
        return SeenSet(base=base, memory_limit_bytes=self._limit_bytes)

    def freeze(self) -> "FrozenSeenSet":
        """The keys as they are now, for phases that only probe.

        Nothing is copied: both sets look at the same memory and disk. The frozen one stays as
        it is even if this one goes on, which then copies the table of its keys in memory.
        """
        self._shared = True
        return FrozenSeenSet(base=self.holdings(), memory_limit_bytes=self._limit_bytes)

    def holdings(self) -> Holdings:
        """Every key, as it is kept; in memory only until the next `admit`."""
        return Holdings((self._hidden, self._fresh), self._layers())

    @property
    def spilled_keys(self) -> int:
        """How many keys this set has written to disk; not those of the set it stems from."""
        return self._spilled_keys

    def __len__(self) -> int:
        return len(self.holdings())

    def __reduce__(self) -> tuple[object, ...]:
        raise NotFrozenError

    def _turn_to(self, source: str | None) -> None:
        """Let the keys of the source that has been read hide those that follow."""
        if self._hidden:
            self._hidden |= self._fresh
        else:
            self._hidden = self._fresh
        self._fresh, self._source = set(), source
        if self._repeated:
            self._memory_bytes -= _weight(self._repeated)
            self._repeated = set()
        if self._spill is not None:
            self._repeated_spill, self._rounds_of_source = None, set()

    def _record(self, packed: list[bytes]) -> set[bytes]:
        """Take in keys of the current source, and tell which of them newer ones have named."""
        keys = set(packed)
        hidden = keys & self._hidden
        twice = keys & self._fresh or keys & self._repeated
        if self._spill is not None or self._below:
            twice = twice or self._look_on_disk(keys, hidden)
        if twice or len(keys) < len(packed):
            path = unpack(_first_repetition(packed, twice)).path
            raise ValueError(f"the file {path} stands twice in one commit")
        if hidden:
            self._repeated |= hidden
            keys -= hidden
        if self._fresh:
            self._fresh |= keys
        else:
            self._fresh = keys
        self._grow_by(_weight(packed))
        return hidden

    def _look_on_disk(self, keys: set[bytes], hidden: set[bytes]) -> set[bytes]:
        """Add to the hidden keys; give back those that the current source has named before."""
        for layer in self._below:
            hidden |= layer.held(keys - hidden)
        twice: set[bytes] = set()
        if self._spill is not None:
            for key, number in self._spill.find(keys - hidden).items():
                (twice if number in self._rounds_of_source else hidden).add(key)
        if self._repeated_spill is not None:
            twice.update(self._repeated_spill.find(hidden))
        return twice

    def _grow_by(self, more_bytes: int) -> None:
        self._memory_bytes += more_bytes
        if self._memory_bytes > self._room_bytes:
            self._move_to_disk()

    def _move_to_disk(self) -> None:
        """Write what is in memory, and let go of it."""
        spill = self._spill or Spill(filter_bytes=self._filter_bytes)
        try:
            self._spill = spill
            if self._hidden:
                spill.add(self._hidden)
            if self._fresh:
                self._rounds_of_source.add(spill.add(self._fresh))
            if self._repeated:
                if self._repeated_spill is None:
                    self._repeated_spill = Spill(filter_bytes=self._filter_bytes >> 3)
                self._repeated_spill.add(self._repeated)
            self._spilled_keys += len(self._hidden) + len(self._fresh)
            self._hidden, self._fresh, self._repeated = set(), set(), set()
            self._shared, self._memory_bytes = False, 0
        except BaseException:
            # Half of it is in memory and on disk: rather no answer from now on than a wrong one.
            spill.close()
            raise

    def _layers(self, without: frozenset[int] = frozenset()) -> tuple[Layer, ...]:
        if self._spill is None:
            return self._below
        return (*self._below, Layer(self._spill, self._spill.rounds, without))


class FrozenSeenSet:
    """Keys that hide older adds; it never changes, several threads may ask it, and it pickles.

    A pickle ships every key, also those on disk; where it arrives, the same limit of memory
    holds.
    """

    __slots__ = ("_holdings", "_limit_bytes")

    def __init__(
        self,
        keys: Iterable[FileKey] = (),
        *,
        base: Holdings | None = None,
        memory_limit_bytes: int = DEFAULT_MEMORY_LIMIT_BYTES,
    ) -> None:
        self._limit_bytes = memory_limit_bytes
        if base is None:
            base = SeenSet(keys, memory_limit_bytes=memory_limit_bytes).holdings()
        self._holdings = base

    def thaw(self) -> SeenSet:
        """A set that starts from these keys and can be filled further."""
        return SeenSet(base=self._holdings, memory_limit_bytes=self._limit_bytes)

    def contains_many(self, keys: Iterable[FileKey]) -> list[bool]:
        """Whether each key is here. Of a set on disk it is far quicker than to ask one by one."""
        packed = pack_all(keys)
        found = self._holdings.held(packed)
        return [key in found for key in packed]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, FileKey):
            return False
        packed, holdings = pack(key), self._holdings
        for keys in holdings.memory:
            if packed in keys:
                return True
        return bool(holdings.layers) and bool(holdings.held((packed,)))

    def __iter__(self) -> Iterator[FileKey]:
        return map(unpack, self._holdings)

    def paths(self) -> Iterator[bytes]:
        """The path of every key, as the bytes that a column of plain paths would have."""
        keys = iter(self._holdings)
        while some := list(islice(keys, _KEYS_AT_ONCE)):
            yield from paths_of(some)

    def __len__(self) -> int:
        return len(self._holdings)

    def __reduce__(self) -> tuple[object, ...]:
        keys = iter(self._holdings)
        shipped = []
        while some := list(islice(keys, _SHIPPED_KEYS)):
            shipped.append(join(some))
        return _arrived, (shipped, self._limit_bytes)


def _arrived(shipped: list[bytes], memory_limit_bytes: int) -> FrozenSeenSet:
    keys = (unpack(key) for joined in shipped for key in split(joined))
    return FrozenSeenSet(keys, memory_limit_bytes=memory_limit_bytes)


def _first_repetition(packed: list[bytes], met_before: set[bytes]) -> bytes:
    met = set(met_before)
    for key in packed:
        if key in met:
            return key
        met.add(key)
    raise AssertionError("every key is there once")


def _weight(keys: Collection[bytes]) -> int:
    """About what keys take in memory."""
    return sum(map(len, keys)) + _KEY_OVERHEAD_BYTES * len(keys)
