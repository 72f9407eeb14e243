"""The seen set: which keys newer commits have already spoken of.

Replay goes newest first, so the first word about a key is the last one that was written.
Adds and removes are both recorded: a re-add hides the older add as well as a remove does.
"""

from collections.abc import Iterable, Iterator, Sequence

from headrace.errors import NotFrozenError
from headrace.protocol.key import FileKey


class SeenSet:
    """Keys met so far, filled by one reader that goes newest first.

    The keys of the source that is being read wait in `_current`: an add is tested against
    strictly newer sources only, because in one commit add(P, dv2) and remove(P, dv1) are legal
    in any order.
    """

    def __init__(
        self, keys: Iterable[FileKey] = (), *, memory_limit_bytes: int | None = None
    ) -> None:
        self.memory_limit_bytes = memory_limit_bytes
        self._older_hidden: set[FileKey] = set(keys)
        self._current: set[FileKey] = set()
        self._source: str | None = None

    def admit(
        self, source: str, *, adds: Sequence[FileKey], removes: Iterable[FileKey]
    ) -> Sequence[bool]:
        """Tell which adds no newer source has named, and record every key.

        Raises:
            ValueError: a key stands twice in one source.
        """
        if source != self._source:
            self._older_hidden |= self._current
            self._current, self._source = set(), source
        hidden = self._older_hidden
        for keys in (adds, removes):
            for key in keys:
                if key in self._current:
                    raise ValueError(f"the file {key.path} stands twice in one commit")
                self._current.add(key)
        return [key not in hidden for key in adds]

    def without(self, source: str) -> "SeenSet":
        """The same set as if that source, the last one, had never been met."""
        current = set() if source == self._source else self._current
        return SeenSet(self._older_hidden | current)

    def freeze(self) -> "FrozenSeenSet":
        """The keys as they are now, for phases that only probe."""
        return FrozenSeenSet(self._older_hidden | self._current)

    def __len__(self) -> int:
        return len(self._older_hidden) + len(self._current - self._older_hidden)

    def __reduce__(self) -> tuple[object, ...]:
        raise NotFrozenError


class FrozenSeenSet:
    """Keys that hide older adds; it never changes, and it pickles."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[FileKey] = ()) -> None:
        self._keys = frozenset(keys)

    def thaw(self) -> SeenSet:
        """A set that starts from these keys and can be filled further."""
        return SeenSet(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[FileKey]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
