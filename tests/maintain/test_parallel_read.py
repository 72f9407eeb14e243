"""Manifests on a remote store are read several at a time, as many as the setting allows."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from headrace.maintain.base import read_base
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.verification import verify
from headrace.storage.store import RequestCost
from tests.maintain.memory import MemoryStore
from tests.maintain.table import PLAIN, entry, table, writer

MANIFESTS = 9


@contextmanager
def most_reads(store: MemoryStore) -> Iterator[list[int]]:
    """Record how many manifests are read at the same time, at most."""
    lock, now, most = threading.Lock(), 0, [0]

    def count(operation: str, path: str, change: int) -> None:
        nonlocal now
        if operation == "read" and "/manifests/" in path:
            with lock:
                now += change
                most[0] = max(most[0], now)

    def before(operation: str, path: str) -> None:
        count(operation, path, 1)
        time.sleep(0.02)

    store.before = before
    store.after = lambda operation, path: count(operation, path, -1)
    yield most


def scattered() -> MemoryStore:
    """Return a log with one file in each of several manifests."""
    store = table("f0")
    for number in range(1, MANIFESTS):
        writer(store).commit([entry(f"f{number}")])
    return store


@pytest.mark.parametrize(("parallelism", "expected"), [(1, 1), (4, 4)])
@pytest.mark.parametrize("act", ["remove", "compact", "verify"])
def test_at_most_the_given_number_is_read_at_a_time(
    parallelism: int, expected: int, act: str
) -> None:
    store = scattered()
    settings = msgspec.structs.replace(PLAIN, read_parallelism=parallelism)
    base = read_base(store, INDEXTABLES_HOME)
    with most_reads(store) as most:
        match act:
            case "remove":
                removed = writer(store, settings).commit(removes=["f1", "f5", "f8", "f2", "gone"])
                assert (removed.removed, removed.missed) == (4, ("gone",))
            case "compact":
                compacted = writer(store, settings).compact()
                assert compacted is not None
                assert compacted.num_files == MANIFESTS
            case _:
                verified = verify(store, INDEXTABLES_HOME, base, parallelism=parallelism)
                assert (verified.is_sound, verified.live_files) == (True, MANIFESTS)
    assert most == [expected]


def test_files_of_a_local_store_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStore, "request_cost", RequestCost.LOCAL)
    store = scattered()
    with most_reads(store) as most:
        writer(store).commit(removes=["f1", "f5"])
    assert most == [1]


def test_a_damaged_manifest_is_reported_among_the_others() -> None:
    store = scattered()
    paths = sorted(path for path in store.objects if "/manifests/" in path)
    for path in paths[:2]:
        store.objects[path] = store.objects[path][:-1]
    verified = verify(store, INDEXTABLES_HOME, read_base(store, INDEXTABLES_HOME), parallelism=4)
    assert len(verified.problems) == 2
    assert verified.live_files == MANIFESTS - 2
