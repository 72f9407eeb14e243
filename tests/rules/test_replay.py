"""Rules 20 to 26 and 34: which file a reference refers to, and which reference wins."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from headrace.errors import CorruptLogError
from tests.lake import spelling
from tests.lake.action import Line, add, opening, remove, statistics, vector
from tests.lake.checkpoint import Form, Shape, Tombstones, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.listing import keys_of, open_snapshot, paths_of
from tests.oracle import Key, canonical

Write: TypeAlias = Callable[[Sequence[Sequence[Line]]], Path]

ONE = vector("vBn[lx{q8@P<9BNH/isA")
TWO = vector("vBn[lx{q8@P<9BNH/isA", offset=40)
INLINE = vector("0rr91", storage="i", offset=None)


@pytest.fixture(params=[None, 0, 1], ids=["commits", "checkpoint at 0", "checkpoint at 1"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Return a function that writes commits after an opening one, with the base at any position."""

    def writer(commits: Sequence[Sequence[Line]]) -> Path:
        history = [[*opening(), *commits[0]], *commits[1:]]
        table = write_history(tmp_path, history)
        if request.param is not None:
            write_checkpoint(table, request.param, state_at(history, request.param))
            for version in range(request.param + 1):
                commit_path(table, version).unlink()
        return table

    return writer


def test_rule_20_one_path_with_two_vectors_is_two_files(write: Write) -> None:
    table = write([[add("a", vector=ONE)], [add("a", vector=TWO), remove("a", vector=ONE)]])
    assert keys_of(table) == {Key("a", "uvBn[lx{q8@P<9BNH/isA@40")}


def test_rule_20_an_offset_is_part_of_the_id_only_if_present(write: Write) -> None:
    table = write([[add("a", vector=INLINE), add("b")], []])
    assert keys_of(table) == {Key("a", "i0rr91"), Key("b", None)}


def test_rule_20_an_offset_of_zero_is_present(write: Write) -> None:
    zero = vector("vBn[lx{q8@P<9BNH/isA", offset=0)
    absent = vector("vBn[lx{q8@P<9BNH/isA", offset=None)
    table = write([[add("a", vector=zero)], [remove("a", vector=absent)]])
    assert keys_of(table) == {Key("a", "uvBn[lx{q8@P<9BNH/isA@0")}


def test_rule_20_a_null_vector_means_no_vector(write: Write) -> None:
    added = add("a", vector={})
    added["add"]["deletionVector"] = None
    assert keys_of(write([[added], []])) == {Key("a", None)}


def test_rule_21_a_re_add_replaces_statistics_and_tags(write: Write) -> None:
    table = write(
        [
            [add("a", stats=statistics(1), tags={"k": "old"}, size=1)],
            [add("a", stats=statistics(2), tags={"k": "new"}, size=2)],
        ]
    )
    [file] = open_snapshot(table).scan()
    assert json.loads(file.stats or "{}")["numRecords"] == 2
    assert dict(file.tags or {}) == {"k": "new"}
    assert file.size_bytes == 2


def test_rule_21_removed_and_added_again_is_live(write: Write) -> None:
    assert paths_of(write([[add("a")], [remove("a")], [add("a", size=3)]])) == ["a"]


@pytest.mark.parametrize("order", [1, -1], ids=["add first", "remove first"])
def test_rule_22_a_new_vector_replaces_the_old_in_any_order(write: Write, order: int) -> None:
    change = [add("a", vector=TWO), remove("a", vector=ONE)][::order]
    table = write([[add("a", vector=ONE)], [], change])
    assert keys_of(table) == {Key("a", "uvBn[lx{q8@P<9BNH/isA@40")}


@pytest.mark.parametrize(
    "lines",
    [
        [add("a"), remove("a")],
        [remove("a"), add("a")],
        [add("a"), add("a", size=2)],
        [add("a%2Db"), remove("a-b")],
        [add("a", vector=ONE), remove("a", vector=ONE)],
    ],
    ids=["add, remove", "remove, add", "add, add", "two spellings", "same vector"],
)
def test_rule_22_one_key_twice_in_a_commit_is_corrupt(write: Write, lines: list[Line]) -> None:
    table = write([[add("x")], [add("y")], lines])
    with pytest.raises(CorruptLogError) as caught:
        paths_of(table)
    assert caught.value.path.endswith(f"{2:020}.json")


def test_rule_23_removes_are_tombstones_and_not_files(write: Write) -> None:
    assert paths_of(write([[add("a"), add("b")], [remove("a"), remove("never there")]])) == ["b"]


@pytest.mark.parametrize("tombstones", Tombstones)
@pytest.mark.parametrize("form", Form)
def test_rule_23_removes_in_a_checkpoint_do_not_matter(
    tmp_path: Path, form: Form, tombstones: Tombstones
) -> None:
    history: list[list[Line]] = [[*opening(), add("a"), add("b")], [remove("a")], [add("c")]]
    write_history(tmp_path, history)
    shape = Shape(form=form, tombstones=tombstones)
    write_checkpoint(tmp_path, 1, state_at(history, 1), shape)
    assert paths_of(tmp_path) == ["b", "c"]


def test_rule_24_a_pruned_add_still_hides_the_older_one(write: Write) -> None:
    old = add("a", partition_values={"part": "x", "n": "1"})
    new = add("a", partition_values={"part": "y", "n": "1"})
    table = write([[old], [], [new]])
    assert [file.path for file in open_snapshot(table).scan(where="part = 'x'")] == []


def test_rule_24_a_pruned_add_by_statistics_still_hides_the_older_one(write: Write) -> None:
    old = add("a", stats=statistics(1, low=0, high=9))
    new = add("a", stats=statistics(1, low=100, high=109))
    table = write([[old], [], [new]])
    assert [file.path for file in open_snapshot(table).scan(where="id < 50")] == []


def test_rule_24_removes_are_never_pruned(write: Write) -> None:
    table = write([[add("a", partition_values={"part": "x", "n": "1"})], [], [remove("a")]])
    assert [file.path for file in open_snapshot(table).scan(where="part = 'x'")] == []


@pytest.mark.parametrize("form", Form)
def test_rule_25_the_rows_of_a_checkpoint_do_not_hide_each_other(
    tmp_path: Path, form: Form
) -> None:
    history: list[list[Line]] = [[*opening(), *(add(f"{i:02}") for i in range(20))], [remove("07")]]
    write_history(tmp_path, history)
    shape = Shape(form=form, parts=3, row_group_rows=3)
    write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    assert paths_of(tmp_path) == [f"{i:02}" for i in range(20) if i != 7]


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        ("/data/x", "file:/data/x"),
        ("file:///data/x", "/data/x"),
        ("file:/data/x", "file:///data/x"),
        ("a%20b", "a b"),
        ("/data/a%20b", "file:///data/a b"),
        ("%C3%BC", "ü"),
    ],
)
def test_rule_26_two_spellings_of_one_path_are_one_file(
    write: Write, added: str, removed: str
) -> None:
    assert paths_of(write([[add(added)], [remove(removed)], []])) == []


@pytest.mark.parametrize("kind", spelling.ALL)
def test_rule_26_spellings_of_any_length_are_one_file(write: Write, kind: spelling.Kind) -> None:
    """Whichever part of a path a reader compares first, an escape must not mislead it."""
    names = [f"{length:02}" + "x" * length for length in range(100)]
    spelled = [kind(name, place) for name in names for place in (0, 1, len(name) // 2)]
    unique = {canonical(spellings[0]): spellings for spellings in spelled}.values()
    table = write(
        [
            [add(spellings[-1]) for spellings in unique],
            [remove(spellings[0]) for spellings in unique],
        ]
    )
    assert paths_of(table) == []


def test_rule_26_a_path_is_decoded_exactly_once(write: Write) -> None:
    assert paths_of(write([[add("a%2520b")], [remove("a%20b")], []])) == ["a%2520b"]


def test_rule_26_the_uri_opens_the_decoded_path(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("p=a%20b/c%2520d")]])
    [file] = open_snapshot(tmp_path).scan()
    assert Path(file.uri.removeprefix("file://")) == tmp_path / "p=a b" / "c%20d"


def test_rule_34_a_vector_counts_even_if_the_property_is_off(tmp_path: Path) -> None:
    history = [
        [
            *opening(**{"delta.enableDeletionVectors": "false"}),
            add("a", vector=ONE, stats=statistics(10)),
        ]
    ]
    [file] = open_snapshot(write_history(tmp_path, history)).scan()
    assert file.dv_id == "uvBn[lx{q8@P<9BNH/isA@1"
    assert file.deletion_vector is not None
    assert file.deletion_vector.cardinality == 2


def test_rule_34_num_records_counts_physical_rows(write: Write) -> None:
    [file] = open_snapshot(write([[add("a", vector=ONE, stats=statistics(10))], []])).scan()
    assert json.loads(file.stats or "{}")["numRecords"] == 10
