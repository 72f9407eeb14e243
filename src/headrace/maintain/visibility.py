"""Decides which entries of a state its tombstones hide.

A state enters; for each of its entries, and for ranges of paths, an answer leaves.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from headrace.maintain.home import Home, HomeKind
from headrace.protocol.key import FileKey, canonical_path
from headrace.protocol.state import Entry, StateManifest, Tombstone


class Visibility:
    """Decides for each entry of a state whether it is live.

    A plain tombstone hides a path whatever version added it. A versioned tombstone hides the
    entries of a key that were added before it; only states of Delta logs are read this way.
    """

    def __init__(self, state: StateManifest, home: Home) -> None:
        self._home = home
        self._plain = frozenset(map(canonical_path, state.tombstones))
        self._versioned: dict[FileKey, int] = {}
        if home.kind is HomeKind.DELTA:
            for tombstone in state.tombstone_entries:
                key = FileKey(canonical_path(tombstone.path), tombstone.dv_id)
                removed = max(self._versioned.get(key, 0), tombstone.removed_at_version)
                self._versioned[key] = removed
        spellings = (*state.tombstones, *(t.path for t in state.tombstone_entries))
        self._paths = PathSet((*spellings, *map(canonical_path, spellings)))

    def hides(self, entry: Entry) -> bool:
        """Whether an entry is removed; its version must be filled in."""
        if canonical_path(entry["path"]) in self._plain:
            return True
        if not self._versioned:
            return False
        removed = self._versioned.get(self._home.key_of(entry))
        return removed is not None and entry["addedAtVersion"] < removed

    def may_hide(self, min_path: str, max_path: str) -> bool:
        """Whether a tombstone may hide an entry with a path in this range."""
        return self._paths.meets(min_path, max_path)


class PathSet:
    """A set of paths that can be queried by range."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._sorted = sorted(set(paths))

    def __len__(self) -> int:
        return len(self._sorted)

    def between(self, min_path: str, max_path: str) -> list[str]:
        """Return the paths in a range."""
        return self._sorted[
            bisect_left(self._sorted, min_path) : bisect_right(self._sorted, max_path)
        ]

    def meets(self, min_path: str | None, max_path: str | None) -> bool:
        """Whether one of the paths is in a range; None means that the range is unknown."""
        if not self._sorted:
            return False
        if min_path is None or max_path is None:
            return True
        at = bisect_left(self._sorted, min_path)
        return at < len(self._sorted) and self._sorted[at] <= max_path


def tombstone_of(key: FileKey, path: str, *, version: int) -> Tombstone:
    """Return the tombstone of a file that a version removes."""
    return Tombstone(path=path, dv_id=key.dv_id, removed_at_version=version)
