"""Arguments of any kind: each is accepted, or refused with a typed error."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Table
from headrace.errors import InvalidArgumentError
from headrace.scan.options import ScanOptions
from tests.lake.action import add, opening
from tests.lake.log import write_history


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(write_history(tmp_path, [[*opening(), add("a")], [add("b")]]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"where": 5},
        {"where": b"id = 1"},
        {"where": ["id = 1"]},
        {"columns": 5},
        {"columns": "id"},
        {"columns": [5]},
        {"columns": [None]},
        {"limit": 1.0},
        {"limit": "1"},
        {"limit": True},
        {"limit": -1},
        {"options": {"strategy": "forward"}},
        {"options": ScanOptions()},
    ],
    ids=str,
)
def test_arguments_of_the_wrong_type_are_refused(table: Table, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        table.snapshot().rows(**wrong)


@pytest.mark.parametrize("columns", [5, "path", b"path", [5], [None]], ids=str)
def test_columns_of_files_are_a_list_of_names(table: Table, columns: Any) -> None:
    scan = table.snapshot().scan()
    for ask in (scan.batches, scan.arrow_schema):
        with pytest.raises(InvalidArgumentError, match="columns"):
            ask(columns=columns)


def test_columns_of_files_may_be_an_iterator(table: Table) -> None:
    names: Any = iter(["size_bytes", "path"])
    batches = table.snapshot().scan().batches(columns=names)
    assert {tuple(batch.schema.names) for batch in batches} == {("size_bytes", "path")}


@pytest.mark.parametrize("version", [-1, "1", 1.0, True, 1 << 63])
def test_a_version_is_a_whole_number(table: Table, version: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="version"):
        table.snapshot(version=version)


def test_numpy_integers_are_accepted(table: Table) -> None:
    snapshot = table.snapshot(version=np.int64(0))  # type: ignore[arg-type]
    assert type(snapshot.version) is int
    assert len(list(snapshot.scan(limit=np.int32(5)))) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("address", [None, 5, ["t"], "", b"", "a\0b"], ids=repr)
def test_an_invalid_address_is_refused(address: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="uri"):
        Table(address)


@pytest.mark.parametrize("name", [b"bad\xff", "bad\udcff"], ids=repr)
def test_a_folder_whose_name_is_not_utf_8_is_refused(name: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is not UTF-8"):
        Table(name)


def test_a_path_below_a_folder_whose_name_is_not_utf_8_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bad\udcff"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes no such name")
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidArgumentError, match="is not UTF-8"):
        Table("events")


def test_an_address_may_be_bytes(table: Table) -> None:
    address: Any = table.uri.encode()
    assert Table(address).uri == table.uri


def test_a_scan_shows_its_arguments(tmp_path: Path) -> None:
    snapshot = Table(write_history(tmp_path, [[*opening(), add("a")]])).snapshot()
    assert repr(snapshot.scan()) == f"Scan({snapshot.table.uri!r}, version=0)"
    assert repr(snapshot.scan(where="id = 1", limit=2)).endswith("where='id = 1', limit=2)")
