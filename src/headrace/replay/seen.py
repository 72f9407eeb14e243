"""The seen set: the keys of files that newer commits have added or removed.

Replay goes newest first, so the first action on a key decides. Adds and removes are both recorded:
a re-add hides the older add just as a remove does.

The set is exact at any size. Keys stay in memory up to a limit and are then spilled to disk,
repeatedly; a Bloom filter in front of the disk saves look-ups and never decides by itself.
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
"""The memory of a key besides its bytes: the object, and its slot in a hash table."""
_FILTER_SHARE = 8
_MAX_FILTER_BYTES = 128 << 20
_MAX_CHUNK = 4096
_PICKLED_KEYS = 1 << 16
_KEYS_AT_ONCE = 1 << 14
_NOTHING = Holdings()


class SeenSet:
    """The keys seen so far, filled by one reader that goes newest first.

    The keys of the current source (a commit) are kept apart from those of newer sources: an add
    is tested against strictly newer sources only, because one commit may contain add(P, dv2) and
    remove(P, dv1) in any order.

    `memory_limit_bytes` bounds the memory of the keys and of the filter in front of the disk.
    A page cache and the keys in transit take a few constant megabytes more. Spilled keys are
    deleted with the last set that needs them.
    """

    def __init__(
        self,
        keys: Iterable[FileKey] = (),
        *,
        base: Holdings = _NOTHING,
        memory_limit_bytes: int = DEFAULT_MEMORY_LIMIT_BYTES,
    ) -> None:
        self._limit_bytes = memory_limit_bytes
        self._filter_bytes = min(memory_limit_bytes // _FILTER_SHARE, _MAX_FILTER_BYTES)
        filters = self._filter_bytes + sum(layer.spill.filter_bytes for layer in base.layers)
        self._room_bytes = max(memory_limit_bytes - filters, memory_limit_bytes >> 1)
        # Keys packed at a time: few enough to be negligible against the limit.
        self._chunk_keys = min(max(memory_limit_bytes >> 10, 1), _MAX_CHUNK)
        self._source: str | None = None
        # These are disjoint from each other and from what is on disk.
        self._hidden: set[bytes] = set().union(*base.memory)
        self._fresh: set[bytes] = set()
        # Keys of the current source that are already hidden, kept to detect duplicates.
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
        self._start_source(None)

    def admit(
        self, source: str, *, adds: Sequence[Add | Remove], removes: Iterable[Add | Remove]
    ) -> Sequence[bool]:
        """Record the key of every file, and return which adds are visible.

        An add is visible if no newer source has its key.

        Raises:
            ValueError: A key occurs twice in one source. Part of the source is then recorded:
                continue with `without(source)`, if at all.
            SpillFailedError: The keys could not be spilled. The set is unusable afterwards.
        """
        if self._shared:
            self._hidden, self._fresh, self._shared = set(self._hidden), set(self._fresh), False
        if source != self._source:
            self._start_source(source)
        visible: list[bool] = []
        remaining = chain(adds, removes)
        while packed := pack_keys_of(islice(remaining, self._chunk_keys)):
            hidden = self._record(packed)
            of_adds = packed[: len(adds) - len(visible)]
            visible += [key not in hidden for key in of_adds]
        return visible

    def without(self, source: str) -> "SeenSet":
        """Return the set as it was before the given source, which must be the current one."""
        base = self.holdings()
        if source == self._source:
            base = Holdings((self._hidden,), self._layers(frozenset(self._rounds_of_source)))
        return SeenSet(base=base, memory_limit_bytes=self._limit_bytes)

    def freeze(self) -> "FrozenSeenSet":
        """Return the current keys as an immutable set, for phases that only probe.

        Nothing is copied: both sets share memory and disk. If this set grows afterwards, it first
        copies its keys in memory, so the frozen set never changes.
        """
        self._shared = True
        return FrozenSeenSet(base=self.holdings(), memory_limit_bytes=self._limit_bytes)

    def holdings(self) -> Holdings:
        """Return all keys; the part in memory is valid until the next `admit`."""
        return Holdings((self._hidden, self._fresh), self._layers())

    @property
    def spilled_keys(self) -> int:
        """The number of keys this set has spilled, without those of the set it started from."""
        return self._spilled_keys

    def __len__(self) -> int:
        return len(self.holdings())

    def __reduce__(self) -> tuple[object, ...]:
        raise NotFrozenError

    def _start_source(self, source: str | None) -> None:
        """Begin the next source: the keys of the previous one hide older adds from now on."""
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
        """Record keys of the current source, and return those that newer sources hide."""
        keys = set(packed)
        hidden = keys & self._hidden
        duplicates = keys & self._fresh or keys & self._repeated
        if self._spill is not None or self._below:
            duplicates = duplicates or self._look_on_disk(keys, hidden)
        if duplicates or len(keys) < len(packed):
            path = unpack(_first_duplicate(packed, duplicates)).path
            raise ValueError(f"the file {path} occurs twice in one commit")
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
        """Extend the hidden keys; return those that occurred in the current source before."""
        for layer in self._below:
            hidden |= layer.held(keys - hidden)
        duplicates: set[bytes] = set()
        if self._spill is not None:
            for key, number in self._spill.find(keys - hidden).items():
                (duplicates if number in self._rounds_of_source else hidden).add(key)
        if self._repeated_spill is not None:
            duplicates.update(self._repeated_spill.find(hidden))
        return duplicates

    def _grow_by(self, more_bytes: int) -> None:
        self._memory_bytes += more_bytes
        if self._memory_bytes > self._room_bytes:
            self._move_to_disk()

    def _move_to_disk(self) -> None:
        """Spill the keys in memory, and release them."""
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
            # The state is inconsistent: no answer from now on is better than a wrong one.
            spill.close()
            raise

    def _layers(self, without: frozenset[int] = frozenset()) -> tuple[Layer, ...]:
        if self._spill is None:
            return self._below
        return (*self._below, Layer(self._spill, self._spill.rounds, without))


class FrozenSeenSet:
    """An immutable set of keys that hide older adds; safe for several threads, and it pickles.

    A pickle contains every key, including those on disk; unpickling applies the same memory
    limit.
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
        """Return a set that starts with these keys and can grow."""
        return SeenSet(base=self._holdings, memory_limit_bytes=self._limit_bytes)

    def contains_many(self, keys: Iterable[FileKey]) -> list[bool]:
        """Return whether each key is in the set; much faster than single tests on disk."""
        packed = pack_all(keys)
        held = self._holdings.held(packed)
        return [key in held for key in packed]

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
        """Yield the path of every key, as the bytes that a column of paths has."""
        keys = iter(self._holdings)
        while some := list(islice(keys, _KEYS_AT_ONCE)):
            yield from paths_of(some)

    def __len__(self) -> int:
        return len(self._holdings)

    def __reduce__(self) -> tuple[object, ...]:
        keys = iter(self._holdings)
        chunks = []
        while some := list(islice(keys, _PICKLED_KEYS)):
            chunks.append(join(some))
        return _unpickle, (chunks, self._limit_bytes)


def _unpickle(chunks: list[bytes], memory_limit_bytes: int) -> FrozenSeenSet:
    keys = (unpack(key) for chunk in chunks for key in split(chunk))
    return FrozenSeenSet(keys, memory_limit_bytes=memory_limit_bytes)


def _first_duplicate(packed: list[bytes], seen_before: set[bytes]) -> bytes:
    seen = set(seen_before)
    for key in packed:
        if key in seen:
            return key
        seen.add(key)
    raise AssertionError("there is no duplicate")


def _weight(keys: Collection[bytes]) -> int:
    """Estimate the memory that keys take, in bytes."""
    return sum(map(len, keys)) + _KEY_OVERHEAD_BYTES * len(keys)
