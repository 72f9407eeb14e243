"""Changes of IndexTables logs: all real ones have only the first version file."""

from collections import Counter
from pathlib import Path

import pytest

import headrace
from headrace.errors import LogGapError
from headrace.scan.changes import ChangeKind
from tests.avro.entry import entry
from tests.state.layout import METADATA, PROTOCOL, lines, put, put_state, split
from tests.state.real_log import NAMES, entries_of


@pytest.fixture(params=NAMES)
def real(request: pytest.FixtureRequest, fixture_indextables: Path) -> Path:
    return fixture_indextables / str(request.param)


def test_each_version_changes_the_difference_of_its_state(real: Path) -> None:
    table = headrace.Table(real)
    changes = list(table.changes())
    newest = table.snapshot().version
    before: set[str] = set()
    for version in range(1, newest + 1):
        after = set(entries_of(real, version))
        of_version = [change for change in changes if change.version == version]
        added = {c.path for c in of_version if c.kind is ChangeKind.ADDED}
        removed = {c.path for c in of_version if c.kind is ChangeKind.REMOVED}
        assert (added, removed) == (after - before, before - after)
        before = after


def test_files_of_the_first_version_file_are_not_reported_again(tmp_path: Path) -> None:
    known = entry("a") | {"partitionValues": {"part": None}}
    put(tmp_path, f"{0:020}.json", lines(PROTOCOL, METADATA, {"add": known}, split("b")))
    put_state(tmp_path, 1, ["a", "c"], manifest="manifests/manifest-1.avro")
    changes = [(c.version, c.kind, c.path) for c in headrace.Table(tmp_path).changes()]
    first = [(0, ChangeKind.ADDED, "a"), (0, ChangeKind.ADDED, "b")]
    assert changes == [*first, (1, ChangeKind.ADDED, "c"), (1, ChangeKind.REMOVED, "b")]


def test_no_change_is_returned_twice(real: Path) -> None:
    counted = Counter((c.version, c.kind, c.path) for c in headrace.Table(real).changes())
    assert set(counted.values()) <= {1}


def test_nothing_changed_since_the_newest_version(real: Path) -> None:
    table = headrace.Table(real)
    assert list(table.changes("2100-01-01")) == []


def test_changes_since_a_version_are_those_of_later_ones(fixture_indextables: Path) -> None:
    table = headrace.Table(fixture_indextables / "02_five_appends")
    assert {change.version for change in table.changes(4)} == {4, 5}
    assert len(list(table.changes(4))) == 4


def test_changes_since_a_time_are_those_of_later_versions(fixture_indextables: Path) -> None:
    table = headrace.Table(fixture_indextables / "02_five_appends")
    assert len(list(table.changes("1999-01-01"))) == 10


def test_a_range_that_was_cleaned_up_is_refused(fixture_indextables: Path, tmp_path: Path) -> None:
    source = fixture_indextables / "02_five_appends"
    for file in source.rglob("*"):
        place = tmp_path / file.relative_to(source)
        if file.is_file() and "state-v00000000000000000003" not in str(file):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    with pytest.raises(LogGapError):
        list(headrace.Table(tmp_path).changes())
