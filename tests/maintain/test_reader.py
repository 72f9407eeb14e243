"""The reader reads what the writer writes: files, partitions, and changes across a compaction."""

import subprocess
import sys
from pathlib import Path

import pytest

from headrace import Table
from headrace.maintain.creation import create_log
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.maintain import oracle
from tests.maintain.table import PLAIN, entry, metadata, objects_of


@pytest.fixture
def table(tmp_path: Path) -> Path:
    writer = StateWriter(LocalStore(str(tmp_path)), settings=PLAIN)
    writer.commit([entry(f"f{n}", size=n, part=str(n % 3)) for n in range(30)], metadata=metadata())
    writer.commit([entry("g", size=7, part="1")], ["f3", "f4"])
    writer.commit([entry("f3", size=99, part="0")])
    return tmp_path


def test_the_reader_returns_the_files_of_every_version(table: Path) -> None:
    for version in (1, 2, 3):
        files = Table(str(table)).snapshot(version).scan()
        expected = oracle.read(objects_of(table), version).files
        assert {file.path: file.size_bytes for file in files} == expected


def test_a_compaction_changes_no_answer(table: Path) -> None:
    before = {file.path for file in Table(str(table)).snapshot().scan("part = '1'")}
    StateWriter(LocalStore(str(table)), settings=PLAIN).compact()
    after = Table(str(table)).snapshot()
    assert after.version == 4
    assert {file.path for file in after.scan("part = '1'")} == before
    assert "g" in before


def test_a_compaction_reports_no_changed_files(table: Path) -> None:
    StateWriter(LocalStore(str(table)), settings=PLAIN).compact()
    StateWriter(LocalStore(str(table)), settings=PLAIN).commit([entry("h")], ["g"])
    changes = [(c.version, str(c.kind), c.path) for c in Table(str(table)).changes(4)]
    assert sorted(changes) == [(5, "added", "h"), (5, "removed", "g")]


def test_a_scan_of_a_state_does_not_import_a_parquet_reader(tmp_path: Path) -> None:
    StateWriter(LocalStore(str(tmp_path))).commit([entry("a"), entry("b")], metadata=metadata())
    script = (
        "import sys, headrace\n"
        f"scan = headrace.Table({str(tmp_path)!r}).snapshot().scan(\"part = 'a'\")\n"
        "print(sum(batch.num_rows for batch in scan.batches()), 'pyarrow.parquet' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert answer.stdout == b"2 False\n"


def changes(table: Path, version: int) -> list[tuple[str, str, int | None]]:
    of_version = Table(str(table)).changes(version, version)
    return [(change.kind.value, change.path, change.size_bytes) for change in of_version]


@pytest.mark.parametrize("layout", ["state", "versions"])
def test_a_file_that_is_added_again_is_a_change(tmp_path: Path, layout: str) -> None:
    store = LocalStore(str(tmp_path))
    if layout == "versions":
        create_log(store, INDEXTABLES_HOME, metadata=metadata())
    writer = StateWriter(store, settings=PLAIN)
    writer.commit([entry("a"), entry("b")], metadata=metadata() if layout == "state" else None)
    second = writer.commit([entry("a", size=99)]).version
    third = writer.commit([entry("b", size=77)], ["b"]).version
    assert changes(tmp_path, second) == [("added", "a", 99)]
    assert changes(tmp_path, third) == [("added", "b", 77)]
