"""The seen set as plans know it: a handle that a node carries and an engine applies.

A sequential phase fills a `RecordingSeen`; a parallel phase probes a `FrozenSeen`, which
never changes and may travel to other processes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey


class RecordingSeen(Protocol):
    """Keys of the files met so far, newest first."""

    def admit(
        self, source: str, *, adds: Sequence[Add | Remove], removes: Iterable[Add | Remove]
    ) -> Sequence[bool]:
        """Return which adds no earlier source has named, and record the key of every file.

        Calls for one source must follow each other: its own keys do not hide its adds.

        Raises:
            ValueError: a key stands twice in one source.
        """

    @property
    def spilled_keys(self) -> int:
        """How many of them went to disk, because they outgrew their memory."""

    def __len__(self) -> int:
        """How many keys are recorded."""


class FrozenSeen(Protocol):
    """Keys that hide older adds; it never changes."""

    def __contains__(self, key: FileKey) -> bool:
        """Whether an older add of this key is hidden."""

    def contains_many(self, keys: Iterable[FileKey]) -> Sequence[bool]:
        """The same for each of several keys; quicker, where the set is on disk."""

    def __iter__(self) -> Iterator[FileKey]:
        """Every key."""

    def paths(self) -> Iterator[bytes]:
        """The path of every key, as the bytes that a column of plain paths would have."""

    def __len__(self) -> int:
        """How many keys there are."""
