"""Leases: one holder at a time, and a fence against former holders."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import msgspec
import pytest

from headrace.commit.body import CommitBody
from headrace.commit.fence import is_only_fence, put_fence
from headrace.commit.lease import Lease, Occupied, acquire_lease, is_held
from headrace.commit.staged import Conflict, Staged
from headrace.errors import LeaseLostError, StoreFailedError
from headrace.storage.local import LocalStore
from headrace.storage.store import PutMode
from headrace.table import Table
from tests.waiting import wait_until

HOUR_MS = 3_600_000


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(tmp_path))


def acquired(store: Any, *, ttl_ms: int = HOUR_MS) -> Lease:
    lease = acquire_lease(store, ttl_ms=ttl_ms)
    assert isinstance(lease, Lease)
    return lease


def expire(store: LocalStore) -> None:
    """Make the newest lease look as if it had not been renewed for a day."""
    for file in (Path(store.root) / "lease").iterdir():
        os.utime(file, (time.time() - 86400,) * 2)


def test_a_held_lease_is_not_granted_again(store: LocalStore) -> None:
    with closing(acquired(store)) as lease:
        other = acquire_lease(store)
        assert isinstance(other, Occupied)
        assert other.holder.startswith(f"process {os.getpid()} on ")
        assert HOUR_MS - 60_000 < other.remaining_ms <= HOUR_MS
        lease.check()
        assert is_held(store)
    assert not is_held(store)


def test_a_released_lease_is_granted_again_with_a_larger_token(store: LocalStore) -> None:
    tokens = []
    for _ in range(3):
        with closing(acquired(store)) as lease:
            tokens.append((lease.token, lease.is_taken_over))
    assert tokens == [(1, False), (2, False), (3, False)]
    assert len(list((Path(store.root) / "lease").iterdir())) == 1
    assert list((Path(store.root) / "clock").glob("*")) == []


def test_an_expired_lease_is_taken_over_and_its_holder_gets_an_error(store: LocalStore) -> None:
    first = acquired(store)
    expire(store)
    assert not is_held(store)
    with closing(acquired(store)) as second:
        assert (second.token, second.is_taken_over) == (2, True)
        with pytest.raises(LeaseLostError) as caught:
            first.check()
        assert caught.value.token == 1
        first.close()
        second.check()
        assert isinstance(acquire_lease(store), Occupied)


def test_a_lease_is_renewed_while_it_is_held(store: LocalStore) -> None:
    lease = "lease/00000000000000000001.json"
    with closing(acquired(store, ttl_ms=200)):
        wait_until(lambda: b'"renewals":2' in store.read(lease))


def test_of_many_threads_one_gets_the_lease(store: LocalStore) -> None:
    with closing(acquired(store)):
        expire(store)
    start = Barrier(8)
    got: list[Any] = []

    def take() -> None:
        start.wait()
        got.append(acquire_lease(store, ttl_ms=HOUR_MS))

    threads = [Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    leases = [lease for lease in got if isinstance(lease, Lease)]
    assert len(leases) == 1
    leases[0].close()


class _Losing:
    """A store that once creates an object but reports a failure."""

    def __init__(self, inner: LocalStore) -> None:
        self._inner, self.lost = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        self._inner.put(path, content, mode=mode)
        if mode is PutMode.CREATE and not self.lost:
            self.lost += 1
            raise StoreFailedError(path=path, reason="the answer was lost")


def test_a_lease_whose_response_was_lost_is_still_held(store: LocalStore) -> None:
    losing = _Losing(store)
    with closing(acquired(losing)) as lease:
        lease.check()
    assert losing.lost == 1


def test_a_number_freed_by_clean_up_is_not_granted(store: LocalStore) -> None:
    """A process has a stale listing with lease 1; lease 2 was deleted and 3 is held."""
    held = msgspec.json.encode({"id": "x", "holder": "h", "ttl_ms": HOUR_MS})

    class _Stale(LocalStore):
        first = True

        def list(self, directory: str, *, start_from: str = "") -> Iterator[Any]:
            listed = list(super().list(directory, start_from=start_from))
            if self.first:
                self.first = False
                self.put("lease/00000000000000000003.json", held, mode=PutMode.CREATE)
            return iter(listed)

    released = msgspec.json.encode({"id": "y", "holder": "h", "ttl_ms": 1, "is_released": True})
    store.put("lease/00000000000000000001.json", released, mode=PutMode.CREATE)
    assert isinstance(acquire_lease(_Stale(store.root)), Occupied)
    assert sorted(f.name[-6:-5] for f in (Path(store.root) / "lease").iterdir()) == ["1", "3"]


@pytest.mark.parametrize("commits", [0, 1])
def test_a_fence_takes_the_version_that_was_about_to_be_created(
    store: LocalStore, commits: int
) -> None:
    for _ in range(commits):
        put_fence(store)
    put_fence(store)
    staged = Staged(store, paths=(), commit_id="zombie", is_durable=True)
    outcome = staged.commit(CommitBody(operation="WRITE"), version=commits)
    assert outcome == Conflict(version=commits)
    snapshot = Table(store.root).snapshot()
    assert (snapshot.version, snapshot.scan().count()) == (commits, 0)
    assert is_only_fence(snapshot.metadata)
