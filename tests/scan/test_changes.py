from pathlib import Path

import pytest

from headrace import Table
from headrace.errors import InvalidArgumentError, LogGapError, UnsafePathError
from headrace.scan.changes import ChangeKind
from tests.lake.action import add, opening, remove
from tests.lake.log import commit_path, write_history
from tests.scan.counting import counting_executor

CDC = {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 3, "dataChange": False}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    history = [[*opening(), add("a"), add("b")], [remove("a"), add("c")], [CDC, remove("b")]]
    return write_history(tmp_path, history)


def changes_of(
    table: Path, start: int, end: int | None = None
) -> list[tuple[int, ChangeKind, str]]:
    return [(c.version, c.kind, c.path) for c in Table(table).changes(start, end)]


def test_changes_come_oldest_first_with_their_version(table: Path) -> None:
    assert changes_of(table, 0, 1) == [
        (0, ChangeKind.ADDED, "a"),
        (0, ChangeKind.ADDED, "b"),
        (1, ChangeKind.ADDED, "c"),
        (1, ChangeKind.REMOVED, "a"),
    ]


def test_the_end_is_the_newest_version_by_default(table: Path) -> None:
    assert changes_of(table, 2) == [
        (2, ChangeKind.REMOVED, "b"),
        (2, ChangeKind.CDC, "_change_data/c"),
    ]


def test_each_commit_is_read_once(table: Path) -> None:
    executor, opened = counting_executor(table)
    source = Table(table, executor=executor)
    changes = source.changes(0)
    source.clear_cache()
    opened.clear()
    list(changes)
    assert len(opened) == len(set(opened)) == 3


def test_a_commit_that_is_gone_is_named(table: Path) -> None:
    source = Table(table)
    changes = source.changes(0)
    commit_path(table, 1).unlink()
    with pytest.raises(LogGapError, match="commit 1 is missing"):
        list(changes)


def test_a_start_beyond_the_end_is_refused(table: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="between 0 and 2"):
        Table(table).changes(3)


def test_a_path_out_of_the_table_is_refused_when_its_address_is_requested(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("../a"), add("b")]])
    climbing, safe = Table(tmp_path).changes(0)
    assert safe.uri.endswith("/b")
    with pytest.raises(UnsafePathError):
        _ = climbing.uri
