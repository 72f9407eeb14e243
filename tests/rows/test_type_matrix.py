"""What writers store: every encoding, codec and page version, every Arrow type, other libraries.

The rows of each file are judged by two readers of others, DuckDB and polars.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import fastparquet
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lake.action import add
from tests.lake.log import write_history
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.rows.lake import array, field, mapped, mapping, struct, table_lines
from tests.rows.naive import bag

MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
OLDER = MOMENT.replace(year=1969)
FIELDS = [
    field("id", "long"),
    field("small", "short"),
    field("whole", "integer"),
    field("single", "float"),
    field("real", "double"),
    field("flag", "boolean"),
    field("text", "string"),
    field("raw", "binary"),
    field("day", "date"),
    field("at", "timestamp"),
    field("wall", "timestamp_ntz"),
    field("money", "decimal(10,2)"),
    field("wei", "decimal(38,4)"),
]
NAMES = [column["name"] for column in FIELDS]


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


DATA = pa.table(
    {
        "id": pa.array([0, 1, 2, 3], pa.int64()),
        "small": pa.array([1, None, -(2**15), 2**15 - 1], pa.int16()),
        "whole": pa.array([5, None, -(2**31), 2**31 - 1], pa.int32()),
        "single": pa.array([0.5, None, float("inf"), -0.0], pa.float32()),
        "real": pa.array([0.1, None, 1e300, -0.0], pa.float64()),
        "flag": pa.array([True, None, False, True]),
        "text": pa.array(["a", None, "", "\U0001f600" * 9]),
        "raw": pa.array([b"a", None, b"", b"\xff\x00"]),
        "day": pa.array([date(2026, 3, 1), None, date(1969, 12, 31), date(9999, 12, 31)]),
        "at": pa.array(
            [MOMENT, None, MOMENT.replace(year=1969), MOMENT], pa.timestamp("us", "UTC")
        ),
        "wall": pa.array([MOMENT.replace(tzinfo=None), None] * 2, pa.timestamp("us")),
        "money": pa.array(
            [Decimal("1.25"), None, Decimal("-9.99"), Decimal(0)], pa.decimal128(10, 2)
        ),
        "wei": pa.array(
            [Decimal("1.2500"), None, Decimal(10**30), Decimal(0)], pa.decimal128(38, 4)
        ),
    }
)
WHERES: dict[str | None, Callable[[dict[str, Any]], bool]] = {
    None: lambda _: True,
    "id >= 2 AND text IS NOT NULL": lambda row: row["id"] >= 2,
    "text = 'a' OR whole < 0": lambda row: row["id"] in (0, 2),
    "wei > 1 AND at >= '2000-01-01'": lambda row: row["id"] == 0,
    "real = 0 OR single = 0": lambda row: row["id"] == 3,
}


def write(
    folder: Path, path: str, fields: list[dict[str, Any]], *, deleted: tuple[int, ...] = ()
) -> Path:
    size = (folder / path).stat().st_size
    vector = inline_vector(deleted) if deleted else None
    return write_history(folder, [table_lines(fields), [add(path, size=size, vector=vector)]])


def check(folder: Path, path: str, expected: list[dict[str, Any]]) -> None:
    """Whole, filtered, limited and with deleted rows; others must read the file alike."""
    names = list(expected[0])
    fields = [column for column in FIELDS if column["name"] in names]
    for deleted in ((), (1,), (0, 3)):
        table = write(folder, path, fields, deleted=deleted)
        snapshot = open_snapshot(table)
        left = [row for number, row in enumerate(expected) if number not in deleted]
        for where, keeps in WHERES.items():
            matching = [row for row in left if keeps(row)]
            rows = snapshot.rows(where=where).read_all()
            assert bag(rows.to_pylist(), names) == bag(matching, names), (where, deleted)
            assert rows.schema == snapshot.schema
            few = snapshot.rows(where=where, limit=1, columns=["id"]).read_all()
            assert few.num_rows == min(1, len(matching))


def judged(path: Path) -> None:
    """The two others agree with what was written."""
    by_duckdb = duckdb.sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()
    for others in (by_duckdb, pl.read_parquet(path).to_arrow()):
        for name in ("id", "small", "whole", "text", "raw", "day", "money", "real"):
            assert others[name].to_pylist() == DATA[name].to_pylist(), name


CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
ENCODINGS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False},
    "dictionary": {"use_dictionary": True},
    "dictionary that overflows": {"dictionary_pagesize_limit": 4, "data_page_size": 8},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {
            **dict.fromkeys(("id", "whole", "at"), "DELTA_BINARY_PACKED"),
            "text": "DELTA_BYTE_ARRAY",
            "raw": "DELTA_LENGTH_BYTE_ARRAY",
        },
    },
    "split": {
        "use_dictionary": False,
        "column_encoding": {
            **dict.fromkeys(("single", "real", "id", "whole"), "BYTE_STREAM_SPLIT"),
            "flag": "RLE",
        },
    },
    "page index": {"write_page_index": True, "write_page_checksum": True, "row_group_size": 2},
    "no statistics": {"write_statistics": False, "store_schema": False, "row_group_size": 1},
    "integers for decimals": {"store_decimal_as_integer": True},
}


@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_read(tmp_path: Path, encoding: str, pages: str) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(DATA, path, data_page_version=pages, **ENCODINGS[encoding])
    judged(path)
    check(tmp_path, path.name, DATA.to_pylist())


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(DATA, path, compression=codec)
    judged(path)
    check(tmp_path, path.name, DATA.to_pylist())


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_every_format_version_is_read(tmp_path: Path, version: str) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(DATA, path, version=version)
    check(tmp_path, path.name, DATA.to_pylist())


def test_times_of_96_bits_are_read(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(DATA, path, use_deprecated_int96_timestamps=True)
    check(tmp_path, path.name, DATA.to_pylist())


OTHER_TYPES: dict[str, dict[str, pa.DataType]] = {
    "views": {"text": pa.string_view(), "raw": pa.binary_view()},
    "large": {"text": pa.large_string(), "raw": pa.large_binary()},
    "codes": {
        "text": pa.dictionary(pa.int8(), pa.string()),
        "raw": pa.dictionary(pa.int32(), pa.binary()),
    },
    "wider": {"small": pa.int64(), "whole": pa.int64(), "day": pa.date64()},
    "narrower": {"id": pa.uint8(), "at": pa.timestamp("ns", "UTC"), "wall": pa.timestamp("ns")},
    "decimals": {"money": pa.decimal256(12, 2), "wei": pa.decimal256(40, 4)},
}


@pytest.mark.parametrize("kind", OTHER_TYPES)
def test_every_arrow_type_that_has_the_values_is_read(tmp_path: Path, kind: str) -> None:
    data = DATA
    for name, other in OTHER_TYPES[kind].items():
        column = DATA[name].cast(other) if kind != "codes" else DATA[name].dictionary_encode()
        data = data.set_column(data.column_names.index(name), name, column)
    pq.write_table(data, tmp_path / "0.parquet")
    check(tmp_path, "0.parquet", DATA.to_pylist())


def by_duckdb(path: Path) -> None:
    duckdb.sql("SET TimeZone = 'UTC'")
    data = DATA  # noqa: F841  (DuckDB finds it by its name)
    duckdb.sql("SELECT * FROM data ORDER BY id").write_parquet(str(path))


def by_polars(path: Path) -> None:
    pl.from_arrow(DATA).write_parquet(path)


def by_fastparquet(path: Path) -> None:
    frame = DATA.select(["id", "real", "text", "flag"]).to_pandas()
    fastparquet.write(str(path), frame, compression="SNAPPY", stats=True)


def by_pandas(path: Path) -> None:
    frame = DATA.to_pandas(types_mapper=pd.ArrowDtype)
    frame.to_parquet(path, engine="pyarrow", index=True)


WRITERS = [by_duckdb, by_polars, by_fastparquet, by_pandas]


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_other_libraries_are_read(tmp_path: Path, writer: Callable[[Path], None]) -> None:
    writer(tmp_path / "0.parquet")
    if writer is by_fastparquet:
        names = ["id", "real", "text", "flag"]
        table = write(tmp_path, "0.parquet", [f for f in FIELDS if f["name"] in names])
        rows = open_snapshot(table).rows(where="text = 'a' OR id = 3").read_all().to_pylist()
        expected = [DATA.select(names).to_pylist()[row] for row in (0, 3)]
        assert bag(rows, names) == bag(expected, names)
        return
    check(tmp_path, "0.parquet", DATA.to_pylist())


NESTED = pa.table(
    {
        "id": [0, 1, 2],
        "list": [[1, None], None, []],
        "deep": [[[1], None], [[]], None],
        "items": [[{"k": "a"}, None], [], None],
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
)
NESTED_FIELDS = [
    field("id", "long"),
    field("list", array("long")),
    field("deep", array(array("long"))),
    field("items", array(struct(field("k", "string")))),
    field("map", mapping("string", "long")),
]


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize("compliant", [True, False])
def test_lists_of_every_layout_are_read(
    tmp_path: Path, *, compliant: bool, store_schema: bool
) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(NESTED, path, use_compliant_nested_type=compliant, store_schema=store_schema)
    snapshot = open_snapshot(write(tmp_path, path.name, NESTED_FIELDS))
    assert snapshot.rows().read_all().to_pylist() == NESTED.to_pylist()
    some = snapshot.rows(where="list IS NOT NULL AND items IS NULL").read_all().to_pylist()
    assert some == NESTED.to_pylist()[2:]


def test_columns_under_mapping_are_read_in_every_form(tmp_path: Path) -> None:
    fields = [mapped(f["name"], f["type"], f"col-{n}", n) for n, f in enumerate(FIELDS, start=1)]
    views = DATA.set_column(6, "text", DATA["text"].cast(pa.string_view()))
    stored = views.rename_columns([f"col-{n}" for n in range(1, len(FIELDS) + 1)])
    pq.write_table(stored, tmp_path / "0.parquet", row_group_size=2)
    properties = {"delta.columnMapping.mode": "name"}
    opening = table_lines(fields, properties=properties)
    vector = inline_vector([1])
    write_history(tmp_path, [opening, [add("0.parquet", size=1, vector=vector)]])
    rows = open_snapshot(tmp_path).rows(where="text = 'a' OR whole < 0").read_all()
    assert bag(rows.to_pylist(), NAMES) == bag((DATA.to_pylist()[n] for n in (0, 2)), NAMES)
