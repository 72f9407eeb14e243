"""The child of the process tests: it commits, compacts or cleans up, and may kill itself.

Run as `python -m tests.maintain.child TABLE WORK [KILL_AT before|after]`. It kills itself before or
after the store operation number `KILL_AT`.
"""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from headrace.maintain.cleanup import clean
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from headrace.storage.store import ObjectMeta, PutMode
from tests.maintain.table import entry

SETTINGS = StateSettings(max_manifests=10_000, tombstone_threshold=1e6, max_attempts=10_000)
EAGER = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)


class KilledStore(LocalStore):
    """A local store that kills its process before or after one of its operations."""

    def __init__(self, root: str, *, at: int, when: str) -> None:
        super().__init__(root)
        self._at, self._when, self._count = at, when, 0

    def _step(self, when: str) -> None:
        if when == "before":
            self._count += 1
        if self._count == self._at and when == self._when:
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self, path: str) -> bytes:
        self._step("before")
        data = super().read(path)
        self._step("after")
        return data

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:
        self._step("before")
        return super().open(path, size_bytes=size_bytes)

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        self._step("before")
        return iter(super().list(directory, start_from=start_from))

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        self._step("before")
        return super().list_tree(directory)

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        self._step("before")
        super().put(path, content, mode=mode)
        self._step("after")

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._step("before")
            super().delete([path])
            self._step("after")


def main() -> None:
    table, work, *kill = sys.argv[1:]
    store = KilledStore(table, at=int(kill[0]), when=kill[1]) if kill else LocalStore(table)
    if work == "commit":
        StateWriter(store, settings=SETTINGS).commit([entry("new", size=5)], ["f0"])
    elif work == "compact":
        StateWriter(store, settings=SETTINGS).compact()
    elif work == "clean":
        clean(store, INDEXTABLES_HOME, settings=EAGER, dry_run=False, clock_ms=now_ms() + 5_000)
    else:
        name, count = work.split(":")
        for number in range(int(count)):
            StateWriter(store, settings=SETTINGS).commit([entry(f"{name}-{number}")])


if __name__ == "__main__":
    main()
