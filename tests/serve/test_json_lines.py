"""JSON lines hold every value of a table, or refuse it; no row can pass for the outcome."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.serve.server import RunningServer
from tests.lake.action import add, metadata, protocol
from tests.lake.log import write_history
from tests.serve.conftest import Start

ARROW = "application/vnd.apache.arrow.stream"
NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
)


def map_type(key: Any, value: Any = "long") -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct_type(**fields: Any) -> dict[str, Any]:
    members = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in fields.items()
    ]
    return {"type": "struct", "fields": members}


def write_table(folder: Path, column: str, values: pa.Array, kind: Any) -> None:
    """Write a table with one column."""
    folder.mkdir()
    file = folder / "x.parquet"
    pq.write_table(pa.table({column: values}), file, store_schema=False)
    described = metadata(columns={"id": "long"}, partition_columns=())
    described["metaData"]["schemaString"] = json.dumps(struct_type(**{column: kind}))
    write_history(folder, [[protocol(), described, add(file.name, size=file.stat().st_size)]])


def rows(server: RunningServer, accept: str = "application/x-ndjson") -> httpx.Response:
    url = f"http://127.0.0.1:{server.http_port}/v1/rows?table=odd/t"
    return httpx.get(url, headers={"accept": accept}, trust_env=False)


FAR_US = 300_000_000_000_000_000
INSTANT = pa.timestamp("us", "UTC")
NEAR = datetime(2026, 2, 8, 1, 2, 3, tzinfo=UTC)
VALUES: dict[str, tuple[Any, pa.DataType, Any, Any]] = {
    "not a number": (math.nan, pa.float64(), "double", None),
    "infinity": (math.inf, pa.float64(), "double", None),
    "time": (NEAR, INSTANT, "timestamp", "2026-02-08T01:02:03Z"),
    "far time": (FAR_US, INSTANT, "timestamp", "11476-08-15T05:20:00.000000Z"),
    "far local time": (FAR_US, pa.timestamp("us"), "timestamp_ntz", "11476-08-15T05:20:00.000000"),
    "far date": (5_000_000, pa.date32(), "date", "15659-07-15"),
    "date before the year 0": (-5_000_000, pa.date32(), "date", "-11720-06-19"),
    "map by date": ([(date(2020, 1, 1), 1)], pa.map_(pa.date32(), pa.int64()), "date", None),
    "map by far date": ([(5_000_000, 1)], pa.map_(pa.date32(), pa.int64()), "date", None),
    "map by number": ([(7, 1)], pa.map_(pa.int64(), pa.int64()), "long", None),
    "map by bytes": ([(b"\xff", 1)], pa.map_(pa.binary(), pa.int64()), "binary", None),
    "map to far dates": (
        [(b"\xff", 5_000_000)],
        pa.map_(pa.binary(), pa.date32()),
        ("binary", "date"),
        None,
    ),
    "map by decimal": (
        [(Decimal("1.5"), 1)],
        pa.map_(pa.decimal128(5, 1), pa.int64()),
        "decimal(5,1)",
        None,
    ),
    "map by struct": (
        [({"a": 1}, 1)],
        pa.map_(pa.struct({"a": pa.int64()}), pa.int64()),
        struct_type(a="long"),
        None,
    ),
    "map with a key twice": (
        [("a", 1), ("a", 2)],
        pa.map_(pa.string(), pa.int64()),
        "string",
        None,
    ),
    "nested": (
        {"near": b"\xff", "far": [5_000_000, None]},
        pa.struct({"near": pa.binary(), "far": pa.list_(pa.date32())}),
        struct_type(
            near="binary", far={"type": "array", "elementType": "date", "containsNull": True}
        ),
        {"near": "/w==", "far": ["15659-07-15", None]},
    ),
}
MAPS = {
    "map by date": {"2020-01-01": 1},
    "map by far date": {"15659-07-15": 1},
    "map to far dates": {"/w==": "15659-07-15"},
    "map by number": {"7": 1},
    "map by bytes": {"/w==": 1},
    "map by decimal": {"1.5": 1},
    "map by struct": [[{"a": 1}, 1]],
    "map with a key twice": [["a", 1], ["a", 2]],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_without_a_python_or_json_form_is_written(
    start: Start, tmp_path: Path, name: str
) -> None:
    value, arrow, kind, text = VALUES[name]
    is_map = name in MAPS
    if is_map:
        kind = map_type(*kind) if isinstance(kind, tuple) else map_type(kind)
    write_table(tmp_path / "t", "c", pa.array([value, None], arrow), kind)
    response = rows(start(roots=(f"odd={tmp_path}",)))
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [line.get("c") for line in lines[:-1]] == [MAPS[name] if is_map else text, None]
    assert lines[-1]["$outcome"]["ending"] == "complete"


@pytest.mark.parametrize("shape", ["plain", "key of a map"])
def test_text_that_is_not_utf8_is_refused_as_json_and_sent_as_arrow(
    start: Start, tmp_path: Path, shape: str
) -> None:
    if shape == "plain":
        write_table(tmp_path / "t", "c", NOT_UTF8, "string")
    else:
        values = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), NOT_UTF8, pa.array([1]))
        write_table(tmp_path / "t", "c", values, map_type("string"))
    server = start(roots=(f"odd={tmp_path}",))
    response = rows(server)
    assert response.status_code == 406
    assert response.json()["error"]["code"] == "NOT_ACCEPTABLE"
    assert pa.ipc.open_stream(rows(server, ARROW).content).read_all().num_rows == 1


@pytest.mark.parametrize("column", ["$outcome", "$error"])
def test_a_column_with_the_name_of_the_last_line_is_refused_as_json(
    start: Start, tmp_path: Path, column: str
) -> None:
    write_table(tmp_path / "t", column, pa.array([1]), "long")
    server = start(roots=(f"odd={tmp_path}",))
    response = rows(server)
    assert response.status_code == 400
    assert column in response.json()["error"]["message"]
    assert pa.ipc.open_stream(rows(server, ARROW).content).read_all().column_names == [column]
