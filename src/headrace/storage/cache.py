"""A size-bounded LRU cache for values that are expensive to read."""

from collections import OrderedDict
from collections.abc import Hashable
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, within a byte limit; the least recently used value is evicted first.

    Safe to use from several threads. An unpickled cache is empty.
    """

    def __init__(self, limit_bytes: int, *, at_least: int = 0) -> None:
        """Start empty.

        Args:
            limit_bytes: The maximum total size of the values, as reported to `put`.
            at_least: The number of most recently used values to keep even above the limit.
        """
        self.limit_bytes = limit_bytes
        self._at_least = at_least
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size_bytes = 0
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(BoundedCache, at_least=self._at_least), (self.limit_bytes,)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        """The total size of the cached values."""
        return self._size_bytes

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None if it is not cached."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, *, size_bytes: int) -> None:
        """Add a value, and evict the least recently used values that no longer fit."""
        with self._lock:
            _, replaced_bytes = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size_bytes)
            self._size_bytes += size_bytes - replaced_bytes
            while self._size_bytes > self.limit_bytes and len(self._entries) > self._at_least:
                _, (_, freed_bytes) = self._entries.popitem(last=False)
                self._size_bytes -= freed_bytes

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._entries.clear()
            self._size_bytes = 0
