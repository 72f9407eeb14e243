"""What users of other Delta readers try without reading the documentation."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from headrace import Table
from headrace.errors import InvalidArgumentError, TableNotFoundError
from headrace.scan.moment import milliseconds
from tests.lake.action import add, commit_info, metadata, opening, protocol, remove, vector
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import state_at, write_commit, write_history

NOW = datetime(2026, 3, 15, 10, 30, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    history = [[*opening(), add("a"), add("b")], [add("c")], [remove("a")]]
    return Table(write_history(tmp_path / "t", history))


def test_the_first_argument_may_be_given_by_position(table: Table) -> None:
    assert table.snapshot(1).version == 1
    assert table.snapshot().scan("id = 1").where == "id = 1"


def test_snapshots_of_one_version_are_equal_whatever_their_base(tmp_path: Path) -> None:
    history = [[*opening(), add("a")], [add("b")]]
    path = write_history(tmp_path, history)
    by_commits = Table(path).snapshot()
    write_checkpoint(path, 1, state_at(history, 1))
    by_checkpoint = Table(path).snapshot()
    assert by_commits.segment != by_checkpoint.segment
    assert {by_commits, by_checkpoint} == {by_commits}
    assert by_commits != Table(path).snapshot(0)
    assert by_commits != "snapshot"


def test_the_same_version_of_another_table_is_another_snapshot(tmp_path: Path) -> None:
    first, second = (
        Table(write_history(tmp_path / name, [opening()])).snapshot() for name in ("a", "b")
    )
    assert first != second


def test_files_of_two_versions_can_be_subtracted(table: Table) -> None:
    old, new = set(table.snapshot(0).scan()), set(table.snapshot().scan())
    assert [file.path for file in new - old] == ["c"]
    assert [file.path for file in old - new] == ["a"]


def test_a_file_with_another_vector_is_another_file(tmp_path: Path) -> None:
    deleted = vector("x", storage="i", offset=None)
    history = [[*opening(), add("a")], [remove("a"), add("a", vector=deleted)]]
    table = Table(write_history(tmp_path, history))
    (before,), (after,) = table.snapshot(0).scan(), table.snapshot(1).scan()
    assert before != after
    assert before.path == after.path


def test_two_spellings_of_a_path_are_one_file(tmp_path: Path) -> None:
    table = Table(write_history(tmp_path, [[*opening(), add("a%2Db")], [add("a-b")]]))
    (encoded,), (plain,) = table.snapshot(0).scan(), table.snapshot(1).scan()
    assert encoded == plain
    assert hash(encoded) == hash(plain)


def test_statistics_are_values_by_the_names_of_the_table(tmp_path: Path) -> None:
    columns = {"id": "long", "day": "date", "price": "decimal(20,2)", "flag": "boolean"}
    stats = (
        '{"numRecords": 3, "minValues": {"id": 1, "day": "2026-01-01", "price": 0.10},'
        '"maxValues": {"id": 9, "day": "2026-01-31", "price": 123456789012345678.90,'
        ' "flag": "yes"}, "nullCount": {"id": 0, "day": 2}, "tightBounds": false}'
    )
    lines = [protocol(), metadata(columns=columns, partition_columns=()), add("a", stats=stats)]
    (file,) = Table(write_history(tmp_path, [lines])).snapshot().scan()
    assert file.num_records == 3
    statistics = file.statistics
    assert statistics is not None
    assert statistics.min_values == {"id": 1, "day": date(2026, 1, 1), "price": Decimal("0.10")}
    assert statistics.max_values["price"] == Decimal("123456789012345678.90")
    assert "flag" not in statistics.max_values  # its value does not have the column's type
    assert (statistics.null_count, statistics.tight_bounds) == ({"id": 0, "day": 2}, False)


def test_statistics_are_found_under_physical_names(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [_field("x", "long", "col-2", 2)]}
    schema = {
        "type": "struct",
        "fields": [_field("id", "long", "col-1", 1), _field("s", inner, "col-3", 3)],
    }
    lines = [protocol(features=("columnMapping",)), metadata(partition_columns=())]
    lines[1]["metaData"] |= {
        "schemaString": json.dumps(schema),
        "configuration": {"delta.columnMapping.mode": "name"},
    }
    stats = json.dumps({"numRecords": 1, "minValues": {"col-1": 5, "col-3": {"col-2": 6}}})
    (file,) = Table(write_history(tmp_path, [[*lines, add("a", stats=stats)]])).snapshot().scan()
    assert file.statistics is not None
    assert file.statistics.min_values == {"id": 5, "s": {"x": 6}}


def _field(name: str, kind: object, physical: str, number: int) -> dict[str, object]:
    names = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number}
    return {"name": name, "type": kind, "nullable": True, "metadata": names}


@pytest.mark.parametrize("stats", [None, "", "{", "[]", "7", '{"numRecords": -1}', "{}"])
def test_unknown_statistics_are_none(tmp_path: Path, stats: str | None) -> None:
    (file,) = (
        Table(write_history(tmp_path, [[*opening(), add("a", stats=stats)]])).snapshot().scan()
    )
    assert file.num_records is None
    assert file.statistics is None or file.statistics.num_records is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("Today", datetime(2026, 3, 15, tzinfo=UTC)),
        ("yesterday", datetime(2026, 3, 14, tzinfo=UTC)),
        ("2 hours ago", NOW - timedelta(hours=2)),
        ("an hour ago", NOW - timedelta(hours=1)),
        ("a  week ago", NOW - timedelta(weeks=1)),
        ("90 seconds ago", NOW - timedelta(seconds=90)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T01:00+01:00", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_times_may_be_relative(text: str, expected: datetime) -> None:
    assert milliseconds(text, now=NOW) == expected.timestamp() * 1000


@pytest.mark.parametrize(
    "text", ["", "soon", "2 moons ago", "2 months ago", "-1 days ago", "999999999 weeks ago", "3"]
)
def test_an_invalid_time_is_refused(table: Table, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="as_of"):
        table.snapshot(as_of=text)


@pytest.mark.parametrize("folder", ["_delta_log", "_transaction_log"])
def test_a_folder_without_versions_has_no_version_at_any_time(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    with pytest.raises(TableNotFoundError):
        Table(tmp_path).snapshot(as_of="2026-03-01")


def test_time_travel_accepts_relative_times(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for version, ago in enumerate((timedelta(days=3), timedelta(hours=2))):
        lines = [*opening(), commit_info()] if version == 0 else [add("a")]
        write_commit(tmp_path, version, lines, modified_ms=int((now - ago).timestamp() * 1000))
    table = Table(tmp_path)
    assert table.snapshot(as_of="now").version == 1
    assert table.snapshot(as_of="1 hour ago").version == 1
    assert table.snapshot(as_of="a day ago").version == 0
