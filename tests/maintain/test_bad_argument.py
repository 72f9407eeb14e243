"""Arguments and commits that are not what they should be: typed errors, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import (
    CorruptLogError,
    InvalidArgumentError,
    InvalidTableError,
    NotIndexTablesError,
)
from tests.lake.action import add, opening, remove, statistics
from tests.lake.log import write_commit, write_history
from tests.maintain import oracle
from tests.maintain.table import entry, metadata, table, writer


@pytest.mark.parametrize(
    "bad",
    [
        "a",
        5,
        None,
        {"path": "x", "size": -1},
        {"path": "x", "size": 1 << 63},
        {"path": "x", "size": "1"},
        {"path": "x", "size": True},
        {"path": "", "size": 1},
        {"path": None, "size": 1},
        {"path": 7, "size": 1},
        {"path": "\ud800", "size": 1},
        {"path": "x", "size": 1, "stats": 5},
        {"path": "x", "size": 1, "stats": "\udfff"},
        {"path": "x", "size": 1, "partitionValues": {"part": 1}},
        {"path": "x", "size": 1, "partitionValues": {1: "a"}},
        {"path": "x", "size": 1, "partitionValues": "part=a"},
        {"path": "x", "size": 1, "partitionValues": None},
        {"path": "x", "size": 1, "modificationTime": 1.5},
        {"path": "x", "size": 1, "modificationTime": None},
        {"path": "x", "size": 1, "numRecords": "many"},
        {"path": "x", "size": 1, "splitTags": "ab"},
        {"path": "x", "size": 1, "splitTags": [None]},
        {"path": "x", "size": 1, "addedAtTimestamp": "now"},
        {"path": "x", "size": 1, "unknown": 1},
    ],
)
def test_an_entry_that_cannot_be_recorded_is_refused_and_nothing_is_written(bad: Any) -> None:
    store = table("a", "b")
    before = dict(store.objects)
    with pytest.raises(InvalidArgumentError):
        writer(store).commit([entry("c"), bad])
    assert store.objects == before


def test_sizes_that_add_up_to_more_than_a_state_can_record_are_refused() -> None:
    store = table("a")
    before = dict(store.objects)
    with pytest.raises(InvalidArgumentError, match="add up"):
        writer(store).commit([entry(name, size=(1 << 63) - 1) for name in "bcde"])
    with pytest.raises(InvalidArgumentError, match="add up"):
        writer(store).commit([entry("b", size=(1 << 63) - 1)])
    assert store.objects == before


@pytest.mark.parametrize("bad", ["a", ["a", None], [b"a"], [5]])
def test_removes_that_are_not_a_list_of_paths_are_refused(bad: Any) -> None:
    store = table("a", "b")
    with pytest.raises(InvalidArgumentError, match="removes"):
        writer(store).commit(removes=bad)
    assert sorted(oracle.read(store.objects).files) == ["a", "b"]


def test_an_indextables_log_is_not_created_in_a_delta_table(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    with pytest.raises(NotIndexTablesError):
        Table(str(tmp_path)).state.commit([entry("b")], metadata=metadata())
    assert [file.path for file in Table(str(tmp_path)).snapshot().scan()] == ["a"]


BAD_LINES = [
    {"add": {}},
    {"add": []},
    {"add": {"path": "x"}},
    {"add": {"path": 1, "size": 1}},
    {"add": {**add("x")["add"], "size": "1"}},
    {"add": {**add("x")["add"], "partitionValues": {"part": 1}}},
    {"add": {**add("x")["add"], "deletionVector": {"storageType": "u"}}},
    {"add": {**add("x")["add"], "stats": 1}},
    {"remove": {}},
    {"remove": {"path": None}},
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_commit_that_cannot_be_decoded_fails_a_sync_as_it_fails_a_scan(
    tmp_path: Path, line: Any
) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    Table(str(tmp_path)).state.sync()
    write_commit(tmp_path, 1, [line])
    with pytest.raises(CorruptLogError):
        list(Table(str(tmp_path)).snapshot().scan())
    with pytest.raises(CorruptLogError):
        Table(str(tmp_path)).state.sync()


@pytest.mark.parametrize(
    "line",
    [
        {"add": {}},
        {"add": []},
        {"add": {"path": 1, "size": 1}},
        {"add": {"path": "x", "size": "1"}},
        {"add": {"path": "x", "size": 1, "partitionValues": []}},
        {"remove": {}},
        {"remove": "x"},
        {"metaData": 5},
    ],
)
def test_a_version_file_that_cannot_be_decoded_is_a_damaged_log(line: Any) -> None:
    store = table("a")
    body = json.dumps(line).encode() + b"\n"
    store.objects[f"_transaction_log/{2:020}.json"] = body
    with pytest.raises(CorruptLogError):
        writer(store).commit([entry("b")])


def test_odd_paths_survive_syncs(tmp_path: Path) -> None:
    names = ["a b", "ä/ö=ü", "50%25", "x" * 5000, "c:d", "'\"\\", "\u200b", "日本", "🙂", " ", "+"]
    adds = [add(name, size=n, stats=statistics(1)) for n, name in enumerate(names)]
    write_history(tmp_path, [[*opening(), *adds]])
    Table(str(tmp_path)).state.sync()
    write_commit(tmp_path, 1, [remove("a%20b"), remove("50%25"), add("new", size=99)])
    Table(str(tmp_path)).state.sync()
    scan = Table(str(tmp_path)).snapshot().scan()
    assert scan.decision.state_version == 1
    plain = Table(str(tmp_path), state="").snapshot().scan()
    assert sorted(f.path for f in scan) == sorted(f.path for f in plain)
    assert len(list(scan)) == len(names) - 1
    assert Table(str(tmp_path)).state.verify().is_sound


MOST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("adds", "reason"),
    [
        ([add("a", size=MOST), add("b", size=1)], "add up to 9223372036854775808"),
        ([add("a", size=9), add("b", size=-5)], "the size of b is -5"),
        ([add("")], "the path of a file is empty"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_adds_that_a_state_cannot_record_are_errors_of_the_table(
    tmp_path: Path, adds: list[Any], reason: str, *, is_first: bool
) -> None:
    write_history(tmp_path, [opening()])
    if not is_first:
        Table(str(tmp_path)).state.sync()
    write_commit(tmp_path, 1, adds)
    with pytest.raises(InvalidTableError, match=reason):
        Table(str(tmp_path)).state.sync()
    assert not list((tmp_path / "_headrace" / "manifests").glob("*"))
    assert len(list(Table(str(tmp_path)).snapshot().scan())) == len(adds)
