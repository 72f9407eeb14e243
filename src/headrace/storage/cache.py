"""What was dear to read and may be wanted again, kept in memory as long as it fits."""

from collections import OrderedDict
from collections.abc import Hashable
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, within so many bytes: what has not been used for longest goes first.

    It is shared by threads. Pickled, it arrives empty.
    """

    def __init__(self, limit_bytes: int, *, at_least: int = 0) -> None:
        """Start empty.

        Args:
            limit_bytes: How much its values may take, by the account of those who put them.
            at_least: So many of the values used last stay, whatever they take.
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
        """What the values take."""
        return self._size_bytes

    def get(self, key: K) -> V | None:
        """The value of a key, if it is still there."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, *, size_bytes: int) -> None:
        """Keep a value, and let go of the least used ones that no longer fit."""
        with self._lock:
            _, replaced_bytes = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size_bytes)
            self._size_bytes += size_bytes - replaced_bytes
            while self._size_bytes > self.limit_bytes and len(self._entries) > self._at_least:
                _, (_, freed_bytes) = self._entries.popitem(last=False)
                self._size_bytes -= freed_bytes

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._entries.clear()
            self._size_bytes = 0
