"""The seen-set interface: a plan node carries the set, and an engine applies it.

A sequential phase fills a `RecordingSeen`. A parallel phase probes a `FrozenSeen`, which never
changes and may be sent to other processes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey


class RecordingSeen(Protocol):
    """The keys of the files seen so far, newest first."""

    def admit(
        self, source: str, *, adds: Sequence[Add | Remove], removes: Iterable[Add | Remove]
    ) -> Sequence[bool]:
        """Return which adds have a key that no earlier source has; record the key of every file.

        Calls for one source must be consecutive: a source's own keys do not hide its adds.

        Raises:
            ValueError: a key occurs twice in one source.
        """

    @property
    def spilled_keys(self) -> int:
        """The number of keys spilled to disk because they exceeded the memory limit."""

    def __len__(self) -> int:
        """Return the number of recorded keys."""


class FrozenSeen(Protocol):
    """An immutable set of keys that hide older adds."""

    def __contains__(self, key: FileKey) -> bool:
        """Return whether an older add with this key is hidden."""

    def contains_many(self, keys: Iterable[FileKey]) -> Sequence[bool]:
        """Return whether each key is in the set; faster than single tests if it is on disk."""

    def __iter__(self) -> Iterator[FileKey]:
        """Iterate over all keys."""

    def paths(self) -> Iterator[bytes]:
        """Yield the path of every key, as the bytes that a column of plain paths has."""

    def __len__(self) -> int:
        """Return the number of keys."""
