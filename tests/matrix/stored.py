"""Cases written by Arrow: all Parquet encodings, codecs and page versions, all Arrow types."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.matrix.case import (
    FLAT,
    FLAT_CONDITIONS,
    FLAT_FIELDS,
    JUDGES,
    MISMATCH,
    MOMENT,
    NO_CODEC,
    Case,
    Condition,
    Field,
    Row,
)
from tests.rows.lake import array, field, mapping, struct

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
    "byte stream split, run lengths": {
        "use_dictionary": False,
        "column_encoding": {
            **dict.fromkeys(("single", "real", "id", "whole"), "BYTE_STREAM_SPLIT"),
            "flag": "RLE",
        },
    },
}
FOOTERS: dict[str, dict[str, Any]] = {
    "page index and checksums": {
        "write_page_index": True,
        "write_page_checksum": True,
        "row_group_size": 2,
    },
    "pages of one row": {"max_rows_per_page": 1, "write_page_index": True},
    "bloom filters": {"bloom_filter_options": {"text": {"ndv": 8}, "id": {"ndv": 8}}},
    "no statistics, no Arrow schema": {
        "write_statistics": False,
        "store_schema": False,
        "row_group_size": 1,
    },
    "decimals as integers": {"store_decimal_as_integer": True},
    "content-defined chunks": {"use_content_defined_chunking": True},
    "timestamps of 96 bits": {"use_deprecated_int96_timestamps": True},
    "format 1.0": {"version": "1.0"},
    "format 2.4": {"version": "2.4"},
}
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


def _flat(group: str, name: str, **options: Any) -> Case:
    return Case(
        group,
        name,
        partial(_write, FLAT, **options),
        FLAT_FIELDS,
        FLAT.to_pylist(),
        FLAT_CONDITIONS,
    )


def _write(data: pa.Table, path: Path, **options: Any) -> None:
    pq.write_table(data, path, **options)


def parquet_cases() -> list[Case]:
    """Return the ways in which Parquet can store the same values."""
    encoded = [
        _flat("Encoding", f"{name}, pages of version {pages}", data_page_version=pages, **options)
        for name, options in ENCODINGS.items()
        for pages in ("1.0", "2.0")
    ]
    codecs = [
        _flat("Codec", codec, compression=codec)._replace(
            refused_by_spark=NO_CODEC if codec == "brotli" else None
        )
        for codec in CODECS
    ]
    return [
        *encoded,
        *codecs,
        *(_flat("File", name, **footer_options) for name, footer_options in FOOTERS.items()),
    ]


def _column(  # noqa: PLR0913  (what a case of one column consists of)
    name: str,
    kind: Any,
    stored: pa.Array,
    *,
    rows: Sequence[Any] | None = None,
    condition: tuple[str, Callable[[Row], bool]] | None = None,
    judges: Sequence[str] = JUDGES,
    refused_by_spark: str | None = None,
    **options: Any,
) -> Case:
    """Return a case of one column `c` with four values, the second of which is null."""
    values = stored.to_pylist() if rows is None else list(rows)
    data = pa.table({"id": pa.array(range(4), pa.int64()), "c": stored})
    fields: list[Field] = [field("id", "long"), field("c", kind)]
    return Case(
        "Arrow type",
        name,
        partial(_write, data, **options),
        fields,
        [{"id": number, "c": value} for number, value in enumerate(values)],
        () if condition is None else (Condition(*condition),),
        judges,
        refused_by_spark=refused_by_spark,
    )


TEXTS = ["a", None, "", "\U0001f600" * 9]
JSONS = ['{"a": 1}', None, "1", "[2]"]
BLOBS = [b"a", None, b"", b"\xff\x00"]
IS_A = ("{c} = 'a' OR {c} LIKE '\U0001f600%'", lambda row: row["id"] in (0, 3))
PAIRS = [b"ab", None, b"\xff\x00", b"zz"]
NANOS = [0, None, -1, 1_772_368_215_123_456_789]
"""Nanoseconds since 1970."""
MICROS = [
    MOMENT.replace(year=1970, month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
    None,
    MOMENT.replace(year=1969, month=12, day=31, hour=23, minute=59, second=59, microsecond=999999),
    MOMENT,
]
CENTS = [Decimal("1.25"), None, Decimal("-9.99"), Decimal("0.00")]
LISTS = [[1, None], None, [], [3]]
ITEMS = [[{"k": "a"}, None], None, [], [{"k": None}]]


def arrow_cases() -> list[Case]:
    """Return the Arrow types that represent a Delta type."""
    return [*_texts(), *_numbers(), *_times(), *_nested()]


def _texts() -> list[Case]:
    plain, raw = pa.array(TEXTS), pa.array(BLOBS)
    return [
        _column("string_view", "string", plain.cast(pa.string_view()), condition=IS_A),
        _column("large_string", "string", plain.cast(pa.large_string()), condition=IS_A),
        _column("dictionary of string", "string", plain.dictionary_encode(), condition=IS_A),
        _column(
            "dictionary of large_string",
            "string",
            plain.cast(pa.large_string()).dictionary_encode(),
            condition=IS_A,
        ),
        _column(
            "json",
            "string",
            _extension(pa.json_(), pa.array(JSONS)),
            condition=("{c} LIKE '[%'", lambda row: row["id"] == 3),
        ),
        _column("binary_view", "binary", raw.cast(pa.binary_view())),
        _column("large_binary", "binary", raw.cast(pa.large_binary())),
        _column("dictionary of binary", "binary", raw.dictionary_encode()),
        _column("fixed_size_binary", "binary", pa.array(PAIRS, pa.binary(2))),
        _column(
            "uuid",
            "binary",
            _extension(pa.uuid(), pa.array([b"%016d" % n for n in range(4)], pa.binary(16))),
            rows=[b"%016d" % n for n in range(4)],
            judges=("polars", "pyarrow"),
        ),
    ]


def _extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


def _numbers() -> list[Case]:
    small, positive = [1, None, 0, 127], ("{c} > 0", lambda row: row["id"] in (0, 3))
    kinds = [("byte", pa.int8()), ("short", pa.uint8()), ("integer", pa.uint16())]
    kinds += [("long", pa.uint32()), ("decimal(20,0)", pa.uint64()), ("byte", pa.uint8())]
    kinds += [("short", pa.int64()), ("integer", pa.int64()), ("long", pa.uint8())]
    cases = [
        _column(
            f"{stored} as {kind}",
            kind,
            pa.array(small, stored),
            condition=positive,
            refused_by_spark=MISMATCH if stored == pa.int64() else None,
        )
        for kind, stored in kinds
    ]
    halves = pa.array([0.5, None, -0.0, 65504.0], pa.float16())
    return [
        *cases,
        _column("null", "long", pa.nulls(4)),
        _column(
            "largest uint64 as decimal(20,0)",
            "decimal(20,0)",
            pa.array([0, None, 1, 2**64 - 1], pa.uint64()),
            condition=("{c} > 9223372036854775807", lambda row: row["id"] == 3),
        ),
        _column(
            "dictionary of int64", "long", pa.array(small).dictionary_encode(), condition=positive
        ),
        _column(
            "bool8 as byte",
            "byte",
            _extension(pa.bool8(), pa.array(small, pa.int8())),
            rows=small,
            condition=positive,
        ),
        _column(
            "halffloat",
            "float",
            halves,
            condition=("{c} > 0", lambda row: row["id"] in (0, 3)),
            refused_by_spark=MISMATCH,
        ),
        *(
            _column(
                str(kind),
                "decimal(5,2)",
                pa.array(CENTS, kind),
                condition=("{c} = 1.25", lambda row: row["id"] == 0),
            )
            for kind in (pa.decimal32(5, 2), pa.decimal64(5, 2))
        ),
        *(
            _column(
                f"{kind} as decimal(38,2)",
                "decimal(38,2)",
                pa.array(CENTS, kind),
                condition=("{c} = 1.25", lambda row: row["id"] == 0),
                # Other readers stop at 38 digits.
                judges=judges,
                refused_by_spark=refused,
            )
            for kind, judges, refused in (
                (pa.decimal256(38, 2), JUDGES, None),
                (pa.decimal256(40, 2), ("pyarrow",), MISMATCH),
            )
        ),
    ]


def _times() -> list[Case]:
    past = ("{c} < '1970-01-01'", lambda row: row["id"] == 2)
    walls = [None if at is None else at.replace(tzinfo=None) for at in MICROS]
    cases = [
        _column(
            f"timestamp[ns{', UTC' if zone else ''}]",
            kind,
            pa.array(NANOS, pa.timestamp("ns", zone)),
            rows=rows,
            condition=past,
            judges=("polars", "pyarrow"),
            refused_by_spark=MISMATCH,
        )
        for kind, zone, rows in (("timestamp", "UTC", MICROS), ("timestamp_ntz", None, walls))
    ]
    cases += [
        _column(
            f"timestamp[{unit}, UTC]",
            "timestamp",
            pa.array([0, None, -1, 1], pa.timestamp(unit, "UTC")),
            condition=past,
        )
        for unit in ("s", "ms")
    ]
    days = FLAT["day"].combine_chunks()
    dated = _column(
        "date64",
        "date",
        days.cast(pa.date64()),
        rows=days.to_pylist(),
        judges=("DuckDB", "pyarrow"),  # polars reads it as a time
    )
    return [*cases, dated]


def _nested() -> list[Case]:
    numbers, items = array("long"), array(struct(field("k", "string")))
    plain = pa.list_(pa.int64())
    structs = pa.list_(pa.struct([("k", pa.large_string())]))
    pairs = [[("a", 1)], None, [], [("b", None)]]
    return [
        _column("list", numbers, pa.array(LISTS, plain)),
        _column("large_list", numbers, pa.array(LISTS, pa.large_list(pa.int64()))),
        *(
            # polars does not support these types.
            _column(name, numbers, pa.array(LISTS, kind), judges=("DuckDB", "pyarrow"))
            for name, kind in (
                ("list_view", pa.list_view(pa.int64())),
                ("large_list_view", pa.large_list_view(pa.int64())),
            )
        ),
        _column(
            "fixed_size_list",
            numbers,
            pa.array([[1, None], None, [0, 0], [3, 4]], pa.list_(pa.int64(), 2)),
        ),
        _column(
            "list of three levels named item",
            numbers,
            pa.array(LISTS, plain),
            use_compliant_nested_type=False,
            store_schema=False,
        ),
        _column("list of structs of large_string", items, pa.array(ITEMS, structs)),
        _column(
            "list of lists",
            array(numbers),
            pa.array([[[1], None], None, [[]], []], pa.list_(plain)),
        ),
        _column(
            "map", mapping("string", "long"), pa.array(pairs, pa.map_(pa.string(), pa.int64()))
        ),
        _column(
            "map of string_view",
            mapping("string", "long"),
            pa.array(pairs, pa.map_(pa.string_view(), pa.int64())),
        ),
        _column(
            "struct of dictionaries",
            struct(field("t", "string"), field("n", "long")),
            pa.StructArray.from_arrays(
                [pa.array(TEXTS).dictionary_encode(), pa.array([1, None, 2, 3])],
                names=["t", "n"],
                mask=pa.array([False, True, False, False]),
            ),
            rows=[
                None if number == 1 else {"t": TEXTS[number], "n": (1, None, 2, 3)[number]}
                for number in range(4)
            ],
            condition=("{c}.t = 'a' OR {c}.n = 3", lambda row: row["id"] in (0, 3)),
        ),
    ]
