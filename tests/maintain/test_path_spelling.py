"""Two spellings of a path are one file, for commits to IndexTables logs as for scans of them."""

from pathlib import Path

import pytest

import headrace
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.maintain import oracle
from tests.maintain.table import PLAIN, entry, metadata, objects_of
from tests.state.layout import METADATA, PROTOCOL, lines, put, split

SPELLINGS = [("a%2Db", "a-b"), ("a-b", "a%2Db"), ("file:/x/q", "/x/q"), ("/x/q", "file:///x/q")]


def writer(folder: Path) -> StateWriter:
    return StateWriter(LocalStore(str(folder)), settings=PLAIN)


def scanned(folder: Path) -> dict[str, int]:
    return {file.path: file.size_bytes for file in headrace.Table(folder).snapshot().scan()}


@pytest.mark.parametrize(("added", "removed"), SPELLINGS)
def test_a_file_is_removed_by_another_spelling(tmp_path: Path, added: str, removed: str) -> None:
    writer(tmp_path).commit([entry(added), entry("c")], metadata=metadata())
    result = writer(tmp_path).commit(removes=[removed])
    assert (result.removed, result.missed, result.num_files) == (1, (), 1)
    assert scanned(tmp_path) == {"c": 10}
    assert oracle.read(objects_of(tmp_path)).files == {"c": 10}
    again = writer(tmp_path).commit(removes=[removed])
    assert (again.removed, again.missed) == (0, (removed,))


@pytest.mark.parametrize(("added", "again"), SPELLINGS)
def test_a_file_is_replaced_under_another_spelling(tmp_path: Path, added: str, again: str) -> None:
    writer(tmp_path).commit([entry(added), entry("c")], metadata=metadata())
    result = writer(tmp_path).commit([entry(again, size=7)])
    assert (result.num_files, result.total_bytes) == (2, 17)
    assert scanned(tmp_path) == {again: 7, "c": 10}
    assert oracle.read(objects_of(tmp_path)).files == {again: 7, "c": 10}


@pytest.mark.parametrize(("added", "again"), SPELLINGS)
def test_a_removed_file_is_added_under_another_spelling(
    tmp_path: Path, added: str, again: str
) -> None:
    writer(tmp_path).commit([entry(added), entry("c")], metadata=metadata())
    writer(tmp_path).commit(removes=[added])
    result = writer(tmp_path).commit([entry(again, size=7)])
    assert (result.num_files, result.total_bytes) == (2, 17)
    assert scanned(tmp_path) == {again: 7, "c": 10}
    assert headrace.Table(tmp_path).state.verify().problems == ()


def test_two_spellings_in_one_commit_are_a_duplicate(tmp_path: Path) -> None:
    with pytest.raises(headrace.errors.InvalidArgumentError, match="twice"):
        writer(tmp_path).commit([entry("a%2Db"), entry("a-b")], metadata=metadata())


@pytest.mark.parametrize(("added", "removed"), SPELLINGS)
def test_version_files_remove_a_file_by_its_own_spelling(
    tmp_path: Path, added: str, removed: str
) -> None:
    """Readers that compare paths as written must see the remove, too."""
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, split(added)))
    put(tmp_path, f"{1:020}.json", lines(split("c")))
    result = writer(tmp_path).commit(removes=[removed])
    assert (result.removed, result.missed, result.num_files) == (1, (), 1)
    assert scanned(tmp_path) == {"c": 1}
    assert oracle.replay_json(objects_of(tmp_path)) == {"c": 1}


@pytest.mark.parametrize(("added", "removed"), SPELLINGS)
def test_a_version_file_removes_a_file_of_a_state_by_another_spelling(
    tmp_path: Path, added: str, removed: str
) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, split(added), split("c")))
    writer(tmp_path).checkpoint()
    put(tmp_path, f"{1:020}.json", lines({"remove": {"path": removed}}))
    assert scanned(tmp_path) == {"c": 1}
    writer(tmp_path).checkpoint()
    assert scanned(tmp_path) == {"c": 1}
    assert oracle.read(objects_of(tmp_path), 1).files == {"c": 1}


@pytest.mark.parametrize(("added", "removed"), SPELLINGS)
def test_one_version_file_removes_and_adds_a_file_in_two_spellings(
    tmp_path: Path, added: str, removed: str
) -> None:
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, split(removed)))
    put(tmp_path, f"{1:020}.json", lines({"remove": {"path": removed}}, split(added)))
    assert scanned(tmp_path) == {added: 1}
    writer(tmp_path).checkpoint()
    assert scanned(tmp_path) == {added: 1}
