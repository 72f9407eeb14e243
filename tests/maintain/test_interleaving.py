"""Two writers in every order: no commit is lost, duplicated or seen in part."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import StateConflictError
from headrace.maintain.commit_result import CommitResult
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.schedule import Writer, explore
from tests.maintain.table import entry, table, writer


def adding(path: str) -> Writer:
    return lambda store: writer(store).commit([entry(path)])


def removing(path: str) -> Writer:
    return lambda store: writer(store).commit(removes=[path])


def replacing(path: str, *, size: int) -> Writer:
    return lambda store: writer(store).commit([entry(path, size=size)])


LONGER = [removing("a"), replacing("a", size=3)] if os.environ.get("HEADRACE_SOAK") else []
"""More commits concurrent with a compaction, for the soak run."""


def compacting(store: MemoryStore) -> object:
    return writer(store).compact()


def all_schedules(
    make: Callable[[], MemoryStore], first: Writer, second: Writer
) -> list[tuple[MemoryStore, list[Any]]]:
    objects = make().objects
    runs = [
        (store, results)
        for store, _, results in explore(lambda: MemoryStore(dict(objects)), (first, second))
    ]
    assert len(runs) >= 20, "there are many orders"
    return runs


def test_two_appends_both_succeed_in_every_order() -> None:
    for store, results in all_schedules(lambda: table("a"), adding("x"), adding("y")):
        assert all(isinstance(result, CommitResult) for result in results)
        assert sorted(result.version for result in results) == [2, 3]
        assert set(oracle.read(store.objects).files) == {"a", "x", "y"}
        assert oracle.states(store.objects) == [1, 2, 3]


def test_only_one_of_two_writers_removes_a_file() -> None:
    outcomes = set()
    for store, results in all_schedules(lambda: table("a", "b"), removing("a"), removing("a")):
        assert oracle.read(store.objects).files == {"b": 10}
        kinds = sorted(type(result).__name__ for result in results)
        if kinds == ["CommitResult", "CommitResult"]:  # one started after the other's commit
            assert sorted(result.removed for result in results) == [0, 1]
        else:
            assert kinds == ["CommitResult", "StateConflictError"]
        outcomes.add(tuple(kinds))
    assert len(outcomes) == 2


def test_a_remove_and_an_append_both_succeed() -> None:
    for store, results in all_schedules(lambda: table("a", "b"), removing("a"), adding("x")):
        assert not any(isinstance(result, StateConflictError) for result in results)
        assert set(oracle.read(store.objects).files) == {"b", "x"}


@pytest.mark.parametrize("other", [adding("x"), *LONGER])
def test_a_compaction_loses_nothing_of_a_concurrent_commit(other: Writer) -> None:
    def make() -> MemoryStore:
        store = table("a", "b")
        writer(store).commit([entry("c")], ["b"])
        return store

    expected = {"x": {"a", "c", "x"}, "r": {"c"}}
    for store, results in all_schedules(make, compacting, other):
        files = oracle.read(store.objects).files
        assert not any(isinstance(result, Exception) for result in results)
        assert set(files) in (*expected.values(), {"a", "c"})
        assert "b" not in files
        versions = oracle.states(store.objects)
        assert versions == list(range(1, len(versions) + 1))
        for version in versions:
            oracle.read(store.objects, version)


def test_the_newer_of_two_replacements_is_live() -> None:
    first, second = replacing("a", size=1), replacing("a", size=2)
    for store, results in all_schedules(lambda: table("a", "b"), first, second):
        last = max(results, key=lambda result: result.version)
        assert oracle.read(store.objects).files["a"] == (1 if last is results[0] else 2)
