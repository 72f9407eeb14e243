"""Cases written by other libraries: DuckDB, polars, pandas, fastparquet, delta-rs."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import fastparquet
import pandas as pd
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake

from headrace.rows.wide_delta import WIDE_DIFFERENCES
from tests.matrix.case import (
    FLAT,
    FLAT_CONDITIONS,
    FLAT_FIELDS,
    JUDGES,
    MISMATCH,
    NO_CODEC,
    Case,
    Condition,
)
from tests.rows.lake import array, field, mapping, struct

NESTED = pa.table(
    {
        "id": pa.array([0, 1, 2, 3], pa.int64()),
        "list": pa.array([[1, None], None, [], [3]], pa.list_(pa.int64())),
        "deep": pa.array([[[1], None], None, [[]], []], pa.list_(pa.list_(pa.int64()))),
        "items": pa.array(
            [[{"k": "a", "n": 1}, None], None, [], [{"k": None, "n": None}]],
            pa.list_(pa.struct([("k", pa.string()), ("n", pa.int32())])),
        ),
        "map": pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int64())),
        "part": pa.array(
            [{"t": "a", "in": {"x": 1.5}}, None, {"t": None, "in": None}, {"t": "b", "in": {}}],
            pa.struct([("t", pa.string()), ("in", pa.struct([("x", pa.float64())]))]),
        ),
    }
)
NESTED_FIELDS = [
    field("id", "long"),
    field("list", array("long")),
    field("deep", array(array("long"))),
    field("items", array(struct(field("k", "string"), field("n", "integer")))),
    field("map", mapping("string", "long")),
    field("part", struct(field("t", "string"), field("in", struct(field("x", "double"))))),
]
NESTED_CONDITIONS = (
    Condition("{part}.t = 'a' OR {part}.in.x > 9", lambda row: row["id"] == 0),
    Condition("{list} IS NOT NULL AND {items} IS NULL", lambda _: False),
    Condition("{part}.in IS NULL", lambda row: row["id"] in (1, 2)),
)


def _duckdb(options: str, data: pa.Table, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("data", data)
        connection.sql(
            f"COPY (SELECT * FROM data ORDER BY id) TO '{path}' (FORMAT parquet{options})"
        )


def _polars(options: dict[str, Any], data: pa.Table, path: Path) -> None:
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(path, **options)


def _pandas(options: dict[str, Any], data: pa.Table, path: Path) -> None:
    data.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(path, engine="pyarrow", **options)


def _categories(data: pa.Table, path: Path) -> None:
    frame = data.to_pandas(types_mapper=pd.ArrowDtype)
    frame["text"] = frame["text"].astype("category")
    frame.to_parquet(path, engine="pyarrow", index=True)


def _fastparquet(options: dict[str, Any], data: pa.Table, path: Path) -> None:
    frame = data.to_pandas()
    if "at" in frame:
        # Its times have nanoseconds, and their own null.
        frame["at"] = frame["at"].astype("datetime64[ns, UTC]")
    fastparquet.write(str(path), frame, stats=True, **options)


def _delta_rs(properties: WriterProperties, data: pa.Table, path: Path) -> None:
    with TemporaryDirectory() as folder:
        write_deltalake(folder, data, writer_properties=properties)
        _take_only_file(folder, path)


def _updated_by_delta_rs(data: pa.Table, path: Path) -> None:
    """DataFusion rewrites the file of an update, with view types for strings."""
    with TemporaryDirectory() as folder:
        write_deltalake(folder, data.set_column(0, "id", pa.array([0, 1, 2, 9], pa.int64())))
        DeltaTable(folder).update(predicate="id = 9", updates={"id": "3"})
        _take_only_file(folder, path)


def _polars_delta(data: pa.Table, path: Path) -> None:
    with TemporaryDirectory() as folder:
        frame = pl.from_arrow(data)
        assert isinstance(frame, pl.DataFrame)
        frame.write_delta(folder)
        _take_only_file(folder, path)


def _take_only_file(folder: str, path: Path) -> None:
    [uri] = DeltaTable(folder).file_uris()
    shutil.copyfile(uri.removeprefix("file://"), path)


Write = Callable[[pa.Table, Path], None]
FLAT_WRITERS: dict[str, Write] = {
    "DuckDB": partial(_duckdb, ""),
    "DuckDB, Parquet version 2, zstd": partial(_duckdb, ", PARQUET_VERSION v2, CODEC zstd"),
    "DuckDB, lz4_raw": partial(_duckdb, ", CODEC lz4_raw"),
    "DuckDB, brotli": partial(_duckdb, ", CODEC brotli"),
    "polars": partial(_polars, {}),
    "polars, lz4, row groups of 2": partial(_polars, {"compression": "lz4", "row_group_size": 2}),
    "polars by Arrow": partial(_polars, {"use_pyarrow": True}),
    "polars write_delta": _polars_delta,
    "pandas": partial(_pandas, {}),
    "pandas with its index": partial(_pandas, {"index": True}),
    "pandas categories": _categories,
    "delta-rs": partial(_delta_rs, WriterProperties()),
    "delta-rs, pages of one row, gzip": partial(
        _delta_rs,
        WriterProperties(data_page_row_count_limit=1, compression="GZIP", max_row_group_size=2),
    ),
    "delta-rs after an update": _updated_by_delta_rs,
}
NESTED_WRITERS: dict[str, Write] = {
    "DuckDB": partial(_duckdb, ""),
    "polars": partial(_polars, {}),
    "pandas": partial(_pandas, {}),
    "delta-rs": partial(_delta_rs, WriterProperties()),
    "delta-rs after an update": _updated_by_delta_rs,
}
FASTPARQUET_COLUMNS = ["id", "real", "text", "flag", "at"]
FASTPARQUET: dict[str, dict[str, Any]] = {
    "fastparquet, snappy": {"compression": "SNAPPY"},
    "fastparquet, gzip, row groups of 2": {"compression": "GZIP", "row_group_offsets": 2},
    "fastparquet, timestamps of 96 bits": {"times": "int96"},
}


def library_cases() -> list[Case]:
    """Return what these libraries write by default, and with their other settings."""
    flat = [
        _case(name, write, FLAT, FLAT_FIELDS, FLAT_CONDITIONS)._replace(
            refused_by_spark=NO_CODEC if "brotli" in name else None,
            refused_by_arrow=WIDE_DIFFERENCES if "version 2" in name else None,
        )
        for name, write in FLAT_WRITERS.items()
    ]
    nested = [
        _case(f"{name}, nested", write, NESTED, NESTED_FIELDS, NESTED_CONDITIONS)
        for name, write in NESTED_WRITERS.items()
        if name != "polars"
    ]
    without_map = NESTED.drop_columns(["map"])
    fields = [f for f in NESTED_FIELDS if f["name"] != "map"]
    polars = _case(
        "polars, nested", NESTED_WRITERS["polars"], without_map, fields, NESTED_CONDITIONS
    )
    return [*flat, *nested, polars, *_of_fastparquet()]


def _case(
    name: str,
    write: Write,
    data: pa.Table,
    fields: Sequence[dict[str, Any]],
    conditions: Sequence[Condition],
) -> Case:
    return Case("Writer", name, partial(write, data), fields, data.to_pylist(), conditions, JUDGES)


def _of_fastparquet() -> list[Case]:
    data = FLAT.select(FASTPARQUET_COLUMNS)
    fields = [f for f in FLAT_FIELDS if f["name"] in FASTPARQUET_COLUMNS]
    known = Condition("{text} = 'a' OR {id} = 3", lambda row: row["id"] in (0, 3))
    return [
        _case(name, partial(_fastparquet, options), data, fields, (known,))._replace(
            # Neither polars nor Spark accepts how this writer stores times.
            judges=("DuckDB", "pyarrow") if "times" in options else JUDGES,
            refused_by_spark=None if "times" in options else MISMATCH,
        )
        for name, options in FASTPARQUET.items()
    ]
