"""A table of many commits, a way to make reading them slow, and a wait for a condition."""

import threading
import time
from pathlib import Path

import pytest

from headrace.storage.local import LocalStore
from tests.lake.action import add, opening
from tests.lake.log import write_history

COMMITS = 200


def write_slow_table(folder: Path) -> Path:
    """Write a table of many commits with one file each."""
    history = [[*opening(), add("first")], *([add(f"f{number}")] for number in range(COMMITS))]
    return write_history(folder / "slow", history)


class Slowness:
    """Slows down each commit read, and counts the reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, seconds: float) -> None:
        self.reads = 0
        self.seconds = seconds
        self._lock = threading.Lock()
        read = LocalStore.read

        def slow_read(store: LocalStore, path: str) -> bytes:
            if path.endswith(".json"):
                with self._lock:
                    self.reads += 1
                time.sleep(self.seconds)
            return read(store, path)

        monkeypatch.setattr(LocalStore, "read", slow_read)
