"""Write a table state as a checkpoint, in every form that the protocol allows.

`Shape` describes the layout of a checkpoint. `write_checkpoint` writes one and returns its files.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.lake import schema as lake_schema
from tests.lake.log import log_of, write_lines
from tests.lake.partition import typed
from tests.lake.statistic import parsed
from tests.oracle import State


class Form(Enum):
    """How a checkpoint is named and encoded."""

    CLASSIC = "classic"
    MULTI_PART = "multi-part"
    V2_CLASSIC_NAME = "v2, classic name"
    V2_JSON = "v2, JSON"
    V2_PARQUET = "v2, Parquet"


class Tombstones(Enum):
    """Whether the checkpoint keeps the tombstones of removed files."""

    KEPT = "kept"
    EXPIRED = "expired"


class Statistics(Enum):
    """How statistics are stored in Parquet."""

    JSON = "JSON"
    STRUCT = "struct"
    BOTH = "both"


class TypedValues(Enum):
    """Which partition columns have a typed value in `partitionValues_parsed`, in Parquet."""

    NONE = ()
    SOME = ("part",)
    ALL = ("part", "n")


class Encoding(Enum):
    """How Parquet encodes and compresses the data, as far as a reader can notice."""

    USUAL = "usual"
    PLAIN = "no dictionaries"
    NEWER = "data pages of version 2, zstd"
    BARE = "no compression, no statistics"
    CROWDED = "many small pages, dictionaries that are given up, gzip"
    BROTLI = "brotli"
    LZ4 = "lz4, with a page index"
    SUMMED = "a checksum in every page"


_ENCODINGS: dict[Encoding, dict[str, Any]] = {
    Encoding.USUAL: {},
    Encoding.PLAIN: {"use_dictionary": False},
    Encoding.NEWER: {"data_page_version": "2.0", "compression": "zstd"},
    Encoding.BARE: {"compression": "none", "write_statistics": False},
    Encoding.CROWDED: {
        "compression": "gzip",
        "data_page_size": 32,
        "write_batch_size": 2,
        "dictionary_pagesize_limit": 16,
    },
    Encoding.BROTLI: {"compression": "brotli"},
    Encoding.LZ4: {"compression": "lz4", "write_page_index": True},
    Encoding.SUMMED: {"write_page_checksum": True},
}


class Columns(Enum):
    """Whether columns without any values are written."""

    ALL = "all"
    USED = "used"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The layout of a checkpoint; without sidecars, its file actions are inline."""

    form: Form
    parts: int = 2
    sidecars: int = 0
    tombstones: Tombstones = Tombstones.KEPT
    statistics: Statistics = Statistics.JSON
    typed_values: TypedValues = TypedValues.NONE
    columns: Columns = Columns.ALL
    encoding: Encoding = Encoding.USUAL
    row_group_rows: int = 1000

    @property
    def is_v2(self) -> bool:
        return self.form not in {Form.CLASSIC, Form.MULTI_PART}


CLASSIC = Shape(form=Form.CLASSIC)


def write_checkpoint(table: Path, version: int, state: State, shape: Shape = CLASSIC) -> list[Path]:
    """Write the checkpoint of a state and return its files, the manifest or first part first."""
    files = list(_file_rows(state, shape))
    rest = list(_other_rows(state))
    stem = log_of(table) / f"{version:020}.checkpoint"
    if shape.form is Form.CLASSIC:
        return [_write_parquet(Path(f"{stem}.parquet"), rest + files, shape)]
    if shape.form is Form.MULTI_PART:
        shares = _deal(rest + files, shape.parts)
        return [
            _write_parquet(Path(f"{stem}.{i:010}.{shape.parts:010}.parquet"), share, shape)
            for i, share in enumerate(shares, start=1)
        ]
    rest.insert(0, {"checkpointMetadata": {"version": version}})
    sidecars: list[Path] = []
    if shape.sidecars:
        folder = log_of(table) / "_sidecars"
        folder.mkdir(exist_ok=True)
        for i, share in enumerate(_deal(files, shape.sidecars)):
            path = folder / f"{_name(version, shape)}-{i}.parquet"
            sidecars.append(_write_parquet(path, share, shape))
        files = [{"sidecar": _sidecar(path)} for path in sidecars]
    return [_write_manifest(stem, version, rest + files, shape), *sidecars]


def _write_manifest(stem: Path, version: int, rows: Sequence[dict[str, Any]], shape: Shape) -> Path:
    if shape.form is Form.V2_JSON:
        return write_lines(Path(f"{stem}.{_name(version, shape)}.json"), rows)
    named = shape.form is Form.V2_PARQUET
    name = f"{stem}.{_name(version, shape)}.parquet" if named else f"{stem}.parquet"
    return _write_parquet(Path(name), rows, shape)


def _name(version: int, shape: Shape) -> str:
    """Return a UUID that depends only on what is written, so that failures are reproducible."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{version} {shape}"))


def _deal(rows: Sequence[dict[str, Any]], shares: int) -> list[list[dict[str, Any]]]:
    return [list(rows[i::shares]) for i in range(shares)]


def _sidecar(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    return {"path": quote(path.name), "sizeInBytes": size, "modificationTime": 1}


def _other_rows(state: State) -> Iterator[dict[str, Any]]:
    if state.protocol:
        yield {"protocol": state.protocol}
    if state.metadata:
        yield {"metaData": state.metadata}
    for txn in state.txns.values():
        yield {"txn": txn}
    for domain in state.domains.values():
        yield {"domainMetadata": domain}


def _file_rows(state: State, shape: Shape) -> Iterator[dict[str, Any]]:
    for add in state.live.values():
        yield {"add": {**add, "dataChange": False}}
    if shape.tombstones is Tombstones.KEPT:
        for remove in state.removed.values():
            yield {"remove": {**remove, "dataChange": False}}


def _write_parquet(path: Path, rows: Sequence[dict[str, Any]], shape: Shape) -> Path:
    schema = lake_schema.checkpoint_schema(
        v2=shape.is_v2,
        typed_values=shape.typed_values.value,
        row_fields={name for row in rows for name in row.get("add", ())},
    )
    stored_rows = [_as_parquet(row, shape) for row in rows]
    if shape.columns is Columns.USED:
        schema = lake_schema.only_used(schema, stored_rows)
    written = pa.Table.from_pylist(stored_rows, schema=schema)
    options = _ENCODINGS[shape.encoding]
    pq.write_table(written, path, row_group_size=shape.row_group_rows, **options)
    return path


def _as_parquet(row: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if "add" not in row:
        return row
    add: dict[str, Any] = dict(row["add"])
    if shape.statistics is not Statistics.JSON:
        add["stats_parsed"] = parsed(add.get("stats"))
    if shape.statistics is Statistics.STRUCT:
        add.pop("stats", None)
    columns = shape.typed_values.value
    if columns:
        add["partitionValues_parsed"] = typed(add["partitionValues"], columns=columns)
    return {"add": add}
