"""Lets two threads meet at one point, to prove that their order does not matter."""

from contextlib import suppress
from threading import Barrier, BrokenBarrierError

from headrace.storage.local import LocalStore

_PATIENCE_S = 0.2


def meet(meeting: Barrier) -> None:
    """Wait for the other thread, but not for long: it may wait for this one elsewhere."""
    with suppress(BrokenBarrierError):
        meeting.wait(_PATIENCE_S)


class MeetingStore(LocalStore):
    """Lets two threads meet before they open a file. A pickle is a plain local store."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__(root)
        self._path = path
        self._meeting = Barrier(2)

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
        return LocalStore, (self.root,)

    def local_path(self, path: str) -> str | None:
        if path == self._path:
            meet(self._meeting)
        return super().local_path(path)
