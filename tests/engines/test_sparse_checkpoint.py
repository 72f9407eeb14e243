"""Checkpoints of other writers: missing columns and legacy encodings lose no file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lake.action import Line, add, metadata, protocol
from tests.lake.log import log_of, write_commit
from tests.listing import open_snapshot

TEXT, LONG = pa.string(), pa.int64()
FIELDS = {"path": TEXT, "partitionValues": pa.map_(TEXT, TEXT), "size": LONG}


def write_table(
    table: Path,
    adds: list[dict[str, Any]],
    fields: dict[str, pa.DataType],
    *,
    described: Line | None = None,
    **options: Any,
) -> Path:
    """Write a checkpoint of version 0 with these adds, and a commit after it that adds `new`."""
    metadata_row = (described or metadata())["metaData"]
    required = {name: metadata_row[name] for name in ("id", "schemaString", "partitionColumns")}
    columns = {
        "protocol": pa.array([protocol()["protocol"], *[None] * (len(adds) + 1)]),
        "metaData": pa.array([None, required, *[None] * len(adds)]),
        "add": pa.array([None, None, *adds], pa.struct(list(fields.items()))),
    }
    path = log_of(table) / f"{0:020}.checkpoint.parquet"
    pq.write_table(pa.table(columns), path, **options)
    write_commit(table, 1, [add("new", partition_values={"part": "x"})])
    return table


def kept(table: Path, where: str) -> list[str]:
    scan = open_snapshot(table).scan(where=where)
    paths = sorted(file.path for file in scan)
    assert scan.count() == len(paths)
    return paths


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("part = 'x'", ["a", "new"]),
        ("part IS NULL", ["b", "c"]),
        ("part IS NULL AND n IS NULL", ["b", "c"]),
        ("part <> 'x'", []),
        ("part IS NULL OR id > 3", ["a", "b", "c", "new"]),
        ("TRUE", ["a", "b", "c", "new"]),
    ],
)
def test_an_add_without_partition_values_has_nulls(
    tmp_path: Path, where: str, expected: list[str]
) -> None:
    values = {"a": [("part", "x")], "b": None, "c": []}
    adds = [
        {"path": name, "partitionValues": partition, "size": 1}
        for name, partition in values.items()
    ]
    assert kept(write_table(tmp_path, adds, FIELDS), where) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("part = 'x'", ["new"]),
        ("part IS NULL", ["a", "b"]),
        ("id > 3", ["a", "b", "new"]),
        ("TRUE", ["a", "b", "new"]),
        ("FALSE", []),
    ],
)
def test_a_checkpoint_without_partition_values_has_nulls(
    tmp_path: Path, where: str, expected: list[str]
) -> None:
    adds = [{"path": name, "size": 1} for name in ("a", "b")]
    assert kept(write_table(tmp_path, adds, {"path": TEXT, "size": LONG}), where) == expected


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize("is_old", [False, True], ids=["microseconds", "INT96"])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("at < '1500-01-01'", ["early"]),
        ("at > '2500-01-01'", ["late"]),
        ("at > '0500-01-01'", ["early", "late"]),
        ("at BETWEEN '1500-01-01' AND '2000-01-01'", []),
    ],
)
def test_times_beyond_nanoseconds_skip_no_file_in_either_encoding(
    tmp_path: Path, where: str, expected: list[str], *, is_old: bool
) -> None:
    described = metadata(columns={"at": "timestamp"}, partition_columns=())
    statistics = _extremes(pa.timestamp("us", "UTC"), "at")
    spans = {"early": ("0001-01-01", "1000-01-01"), "late": ("2020-01-01", "9999-12-31")}
    adds = [
        {
            "path": name,
            "size": 1,
            "stats_parsed": {
                "numRecords": 1,
                "minValues": {"at": _moment(low)},
                "maxValues": {"at": _moment(high)},
            },
        }
        for name, (low, high) in spans.items()
    ]
    fields = {"path": TEXT, "size": LONG, "stats_parsed": statistics}
    options = {"use_deprecated_int96_timestamps": is_old}
    write_table(tmp_path, adds, fields, described=described, **options)
    assert kept(tmp_path, where) == [*expected, "new"]


def _extremes(kind: pa.DataType, name: str) -> pa.DataType:
    extreme = pa.struct([(name, kind)])
    return pa.struct([("numRecords", LONG), ("minValues", extreme), ("maxValues", extreme)])


def test_a_file_with_nan_is_not_skipped_because_of_its_neighbours(tmp_path: Path) -> None:
    described = metadata(columns={"x": "double"}, partition_columns=())
    spans = {"small": (-1.5, -1.5), "any": (-1.5, float("nan"))}
    adds = [
        {
            "path": name,
            "size": 1,
            "stats_parsed": {"numRecords": 2, "minValues": {"x": low}, "maxValues": {"x": high}},
        }
        for name, (low, high) in spans.items()
    ]
    fields = {"path": TEXT, "size": LONG, "stats_parsed": _extremes(pa.float64(), "x")}
    write_table(tmp_path, adds, fields, described=described)
    assert kept(tmp_path, "x = 0.1") == ["any", "new"]


@pytest.mark.parametrize("places", [(0, 1), (1, 0)], ids=["dotted first", "nested first"])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("`a.b` = 100", ["f", "new"]),
        ("a.b = 1", ["f", "new"]),
        ("`a.b` = 1", ["new"]),
        ("a.b = 100", ["new"]),
    ],
)
def test_a_dot_in_a_name_does_not_mean_a_member(
    tmp_path: Path, places: tuple[int, int], where: str, expected: list[str]
) -> None:
    described = metadata(columns={"a.b": "long", "a": "STRUCT"}, partition_columns=())
    inner = '{"type":"struct","fields":[{"name":"b","type":"long","nullable":true,"metadata":{}}]}'
    metadata_row = described["metaData"]
    metadata_row["schemaString"] = metadata_row["schemaString"].replace('"STRUCT"', inner)
    kinds = [("a.b", LONG), ("a", pa.struct([("b", LONG)]))]
    extreme = pa.struct([kinds[place] for place in places])
    names = ("minValues", "maxValues", "nullCount")
    statistics = pa.struct([("numRecords", LONG), *((name, extreme) for name in names)])
    values = {"a.b": 100, "a": {"b": 1}}
    none = {"a.b": 0, "a": {"b": 0}}
    parsed = {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": none}
    fields = {"path": TEXT, "size": LONG, "stats_parsed": statistics}
    adds = [{"path": "f", "size": 1, "stats_parsed": parsed}]
    assert kept(write_table(tmp_path, adds, fields, described=described), where) == expected


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
    ],
)
def test_a_day_beyond_the_calendar_skips_no_file(
    tmp_path: Path, kind: str, stored: pa.DataType
) -> None:
    described = metadata(columns={"at": kind}, partition_columns=())
    late = pa.scalar(4_000_000, pa.date32()).cast(stored)
    early = pa.scalar(0, pa.date32()).cast(stored)
    parsed = {"numRecords": 1, "minValues": {"at": early}, "maxValues": {"at": late}}
    fields = {"path": TEXT, "size": LONG, "stats_parsed": _extremes(stored, "at")}
    adds = [{"path": "f", "size": 1, "stats_parsed": parsed}]
    write_table(tmp_path, adds, fields, described=described)
    assert kept(tmp_path, "at > '9000-01-01'") == ["f", "new"]
    assert kept(tmp_path, "at < '1960-01-01'") == ["new"]
