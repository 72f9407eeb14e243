"""Two spellings of a path are one file, for commits to IndexTables logs as for scans of them."""

from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.effort import examples
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


PATHS = ["a-b", "a%2Db", "%61-b", "a-b%25", "a-b%2525", "c", "%63", "file:/x/c", "/x/c", "/x/%63"]


def canonical(path: str) -> str:
    decoded = unquote(path)
    return "/" + decoded[len("file:") :].lstrip("/") if decoded.startswith("file:") else decoded


@st.composite
def changes(draw: st.DrawFn) -> tuple[dict[str, int], list[str]]:
    """Draw the sizes of added files by path, no file twice, and some paths to remove."""
    added = draw(st.lists(st.sampled_from(PATHS), max_size=3, unique_by=canonical))
    sizes = {path: draw(st.integers(1, 99)) for path in added}
    removed = st.sampled_from(PATHS).filter(lambda p: canonical(p) not in map(canonical, added))
    return sizes, draw(st.lists(removed, max_size=3, unique_by=canonical))


@pytest.mark.property
@settings(max_examples=examples(60), deadline=None)
@given(
    history=st.lists(st.tuples(changes(), st.booleans()), min_size=1, max_size=6),
    in_version_files=st.booleans(),
)
def test_a_random_history_has_the_files_of_a_dictionary_of_canonical_paths(
    *, history: list[tuple[tuple[dict[str, int], list[str]], bool]], in_version_files: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        if in_version_files:
            put(folder, f"{0:020}.json", lines(PROTOCOL, METADATA))
            put(folder, f"{1:020}.json", lines(PROTOCOL))
        live: dict[str, tuple[str, int]] = {}
        for (added, removed), is_compacted in history:
            gone = {canonical(path) for path in removed}
            missed = tuple(sorted(path for path in removed if canonical(path) not in live))
            live = {key: file for key, file in live.items() if key not in gone}
            live |= {canonical(path): (path, size) for path, size in added.items()}
            result = writer(folder).commit(
                [entry(path, size=size, part=None) for path, size in added.items()],
                removed,
                metadata=None if in_version_files or has_log(folder) else metadata(),
                force_compaction=is_compacted and not in_version_files,
            )
            assert (result.missed, result.num_files) == (missed, len(live))
            assert result.total_bytes == sum(size for _, size in live.values())
            assert scanned(folder) == dict(live.values())
        if in_version_files:
            assert (folder / "_transaction_log" / f"{len(history) + 1:020}.json").exists()
            writer(folder).checkpoint()
        else:
            assert headrace.Table(folder).state.verify().problems == ()
            assert oracle.read(objects_of(folder)).files == dict(live.values())
        assert scanned(folder) == dict(live.values())


def has_log(folder: Path) -> bool:
    return (folder / "_transaction_log").exists()
