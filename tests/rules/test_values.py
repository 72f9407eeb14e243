"""Rules 27 to 33 as users see them: typed values, and which files a condition keeps."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import InvalidTableError
from tests.lake.action import Line, add, metadata, opening, protocol, statistics
from tests.lake.checkpoint import Form, Shape, Statistics, TypedValues, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.listing import open_snapshot


def _kept(table: Path, where: str) -> list[str]:
    return sorted(file.path for file in open_snapshot(table).scan(where=where))


def _write(table: Path, columns: Mapping[str, str], *adds: Line, by: list[str]) -> Path:
    metadata_line = metadata(columns=columns, partition_columns=by)
    return write_history(table, [[protocol(), metadata_line, *adds]])


def _stats(**stats: Any) -> str:
    return json.dumps(stats)


def _typed(table: Path, kind: str, text: str | None) -> Any:
    """Return the value of a partition column of this type."""
    _write(table, {"p": kind}, add("a", partition_values={"p": text}), by=["p"])
    [file] = open_snapshot(table).scan()
    return file.typed_partition_values["p"]


def test_rule_27_partition_values_come_from_the_log(tmp_path: Path) -> None:
    line = add("part=wrong/n=9/a", partition_values={"part": "right", "n": "1"})
    [file] = open_snapshot(write_history(tmp_path, [[*opening(), line]])).scan()
    assert file.typed_partition_values == {"part": "right", "n": 1}


@pytest.mark.parametrize("kind", ["string", "integer", "date", "timestamp", "binary", "boolean"])
@pytest.mark.parametrize("text", ["", None])
def test_rule_27_the_empty_text_is_null_for_every_type(
    tmp_path: Path, kind: str, text: str | None
) -> None:
    assert _typed(tmp_path, kind, text) is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("long", "-9223372036854775808", -(2**63)),
        ("boolean", "true", True),
        ("double", "1.5", 1.5),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("string", "a b/ü", "a b/ü"),
    ],
)
def test_rule_27_values_have_the_type_of_their_column(
    tmp_path: Path, kind: str, text: str, value: object
) -> None:
    assert _typed(tmp_path, kind, text) == value


@pytest.mark.parametrize("text", ["2024-01-02 03:04:05.123456", "2024-01-02T03:04:05.123456Z"])
def test_rule_28_a_timestamp_has_two_encodings(tmp_path: Path, text: str) -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)
    assert _typed(tmp_path, "timestamp", text) == moment


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    """Write a table whose columns have other names in the log than for its users."""
    metadata_line = metadata(
        columns={"id": "long", "part": "string"},
        partition_columns=["part"],
        properties={"delta.columnMapping.mode": "name"},
    )
    schema = json.loads(metadata_line["metaData"]["schemaString"])
    for number, field in enumerate(schema["fields"], start=1):
        field["metadata"] = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{field['name']}",
        }
    metadata_line["metaData"]["schemaString"] = json.dumps(schema)
    bounds = {"minValues": {"col-id": 5}, "maxValues": {"col-id": 9}, "nullCount": {"col-id": 0}}
    line = add("a", partition_values={"col-part": "x"}, stats=_stats(numRecords=3, **bounds))
    return write_history(tmp_path, [[protocol(features=["columnMapping"]), metadata_line, line]])


def test_rule_29_users_see_logical_names(mapped: Path) -> None:
    [file] = open_snapshot(mapped).scan()
    assert dict(file.partition_values) == {"part": "x"}


@pytest.mark.parametrize(
    ("where", "paths"),
    [("part = 'x'", ["a"]), ("part = 'y'", []), ("id = 7", ["a"]), ("id > 9", [])],
)
def test_rule_29_conditions_on_logical_names_use_physical_ones(
    mapped: Path, where: str, paths: list[str]
) -> None:
    assert _kept(mapped, where) == paths


@pytest.mark.parametrize(
    ("tight", "nulls", "where", "paths"),
    [
        ({}, 0, "id IS NULL", []),
        ({}, 3, "id IS NULL", ["a"]),
        ({}, 10, "id IS NOT NULL", []),
        ({"tightBounds": False}, 0, "id IS NULL", []),
        ({"tightBounds": False}, 3, "id IS NULL", ["a"]),
        ({"tightBounds": False}, 3, "id IS NOT NULL", ["a"]),
        ({"tightBounds": False}, 10, "id IS NOT NULL", []),
    ],
)
def test_rule_30_wide_bounds_prove_only_that_no_or_all_values_are_null(
    tmp_path: Path, tight: dict[str, bool], nulls: int, where: str, paths: list[str]
) -> None:
    stats = _stats(numRecords=10, nullCount={"id": nulls}, **tight)
    _write(tmp_path, {"id": "long"}, add("a", stats=stats), by=[])
    assert _kept(tmp_path, where) == paths


@pytest.mark.parametrize(
    ("where", "paths"),
    [
        ("t > TIMESTAMP '2024-01-01T00:00:00.123500Z'", ["a"]),
        ("t >= TIMESTAMP '2024-01-01T00:00:00.124000Z'", []),
    ],
)
def test_rule_31_a_timestamp_maximum_may_be_too_low_by_less_than_1_ms(
    tmp_path: Path, where: str, paths: list[str]
) -> None:
    bound = {"t": "2024-01-01T00:00:00.123Z"}
    stats = _stats(numRecords=1, minValues=bound, maxValues=bound, nullCount={"t": 0})
    _write(tmp_path, {"t": "timestamp"}, add("a", stats=stats), by=[])
    assert _kept(tmp_path, where) == paths


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        "{}",
        "null",
        "not JSON",
        _stats(numRecords=1),
        _stats(numRecords=1, minValues={"id": None}, maxValues={"id": None}),
        _stats(numRecords=1, minValues={"id": "five"}, maxValues={"id": "nine"}),
    ],
)
def test_rule_32_without_proof_a_file_is_kept(tmp_path: Path, stats: str | None) -> None:
    _write(tmp_path, {"id": "long"}, add("a", stats=stats), by=[])
    assert _kept(tmp_path, "id = 700") == ["a"]


@pytest.mark.parametrize("form", Form)
def test_rule_33_files_are_skipped_by_parsed_statistics_alone(tmp_path: Path, form: Form) -> None:
    later = metadata(columns={"id": "long", "part": "string", "n": "integer", "new": "long"})
    files = [
        add("low", stats=statistics(1, low=0, high=9), partition_values={"part": "x", "n": "1"}),
        add("high", stats=statistics(1, low=90, high=99), partition_values={"part": "y", "n": "2"}),
        add("unknown", partition_values={"part": None, "n": None}),
    ]
    history: list[list[Line]] = [[*opening(), *files], [later]]
    write_history(tmp_path, history)
    shape = Shape(form=form, statistics=Statistics.STRUCT, typed_values=TypedValues.ALL, sidecars=1)
    write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    commit_path(tmp_path, 0).unlink()
    assert _kept(tmp_path, "id < 50") == ["low", "unknown"]
    assert _kept(tmp_path, "n = 2") == ["high"]
    assert _kept(tmp_path, "new = 1") == ["high", "low", "unknown"]


def test_rule_27_a_partition_column_of_an_unknown_type_is_refused_when_typed(
    tmp_path: Path,
) -> None:
    columns = {"id": "long", "part": "fromTheFuture"}
    _write(tmp_path, columns, add("a", partition_values={"part": "x"}), by=["part"])
    scan = open_snapshot(tmp_path).scan()
    assert [dict(file.partition_values) for file in scan] == [{"part": "x"}]
    with pytest.raises(InvalidTableError):
        scan.batches()
