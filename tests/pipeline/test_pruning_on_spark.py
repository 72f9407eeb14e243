"""Pruning never removes a file in which Spark finds a row, for conditions of all kinds.

Every row is in its own file, so each row that Spark finds identifies a file that must be kept.
"""

import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace.pipeline import Project

NAN, ENDLESS = float("nan"), float("inf")
ROWS: list[dict[str, Any]] = [
    {"i": i, "s": s, "d": d, "ts": ts, "dec": dec, "f": f, "b": b}
    for i, s, d, ts, dec, f, b in [
        (None, None, None, None, None, None, None),
        (5, "5", date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), "5.00", 5.0, True),
        (-5, "05", date(2023, 12, 31), datetime(2023, 12, 31, 23, tzinfo=UTC), "5.01", -0.0, False),
        (0, " 5", date(2024, 1, 2), datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC), "0.05", 0.0, True),
        (7, "5.0", date(1969, 12, 31), datetime(1970, 1, 1, tzinfo=UTC), "-0.05", NAN, None),
        (
            2**31 - 1,
            "a",
            date(2024, 2, 29),
            datetime(2024, 6, 1, tzinfo=UTC),
            "99.99",
            ENDLESS,
            True,
        ),
        (-(2**31), "A", date(2100, 1, 1), datetime(2023, 6, 1, tzinfo=UTC), "4.99", 0.1, False),
        (6, "", date(2024, 12, 31), datetime(2024, 1, 2, tzinfo=UTC), "6.00", 5.5, None),
        (4, "2024-01-01", date(2020, 1, 1), datetime(2000, 1, 1, tzinfo=UTC), "4.00", -5.0, False),
        (8, "true", date(2024, 1, 1), datetime(2024, 1, 1, 12, tzinfo=UTC), "8.00", 1e300, True),
        (9, "a%b_c", date(2024, 1, 3), datetime(2024, 1, 3, tzinfo=UTC), "9.00", 1e-300, True),
    ]
]
SCHEMA = pa.schema(
    [
        ("n", pa.int32()),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("dec", pa.decimal128(4, 2)),
        ("f", pa.float64()),
        ("b", pa.bool_()),
    ]
)
COLUMNS = ("i", "s", "d", "ts", "dec", "f", "b")
LITERALS = (
    *("5", "5L", "-5", "5.0", "5.5", "5.0D", "0.05", "1e0", "2147483648", "'5'", "'05'", "' 5'"),
    *("'a'", "''", "'2024-01-01'", "'2024-1-1'", "'2024-01-01 00:00:00'", "DATE '2024-01-01'"),
    *("TIMESTAMP '2024-01-01 00:00:00'", "true", "NULL", "CAST('5' AS INT)", "2 + 3"),
    *("DATE '2023-12-31' + INTERVAL '1' DAY", "upper('a')", "double('NaN')"),
)
COMPARISONS = [
    f"{column} {op} {literal}" for column, literal, op in product(COLUMNS, LITERALS, ("=", "<"))
]
OTHERS = [
    "i >= 5",
    "s <> '5'",
    "d > '2024-01-01'",
    "ts >= '2024-01-01'",
    "ts <= TIMESTAMP '2024-01-01 00:00:00'",
    "dec <> 5",
    "f >= 5",
    "cast(i AS STRING) = '5'",
    "cast(s AS INT) = 5",
    "cast(d AS STRING) = '2024-01-01'",
    "cast(ts AS DATE) = DATE '2024-01-01'",
    "cast(f AS INT) = 5",
    "year(d) = 2024",
    "date_trunc('DAY', ts) = TIMESTAMP '2024-01-01'",
    "s LIKE 'a%'",
    "s LIKE '%5'",
    "s LIKE 'a\\\\%b%'",
    "s NOT LIKE '5%'",
    "s IN ('5', 'a')",
    "i IN (5, 7, NULL)",
    "i NOT IN (5, 7)",
    "i NOT IN (5, NULL)",
    "i BETWEEN 4 AND 6",
    "NOT (i < 5 AND s = 'a')",
    "i IS NULL OR f > 5",
    "i <=> NULL",
    "s <=> '5'",
    "b",
    "NOT b",
    "b IS NOT TRUE",
    "coalesce(i, 5) = 5",
    "i + 0 = 5",
    "-i = 5",
    "abs(i) = 5",
    "f = f",
    "CASE WHEN i = 5 THEN true ELSE s = 'a' END",
    "if(b, i = 5, s = 'A')",
    "(i = 5 AND upper(s) = '5') OR (d < DATE '2000-01-01' AND length(s) = 3)",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pruning")
    rows = [
        {**row, "n": number, "dec": None if row["dec"] is None else Decimal(row["dec"])}
        for number, row in enumerate(ROWS)
    ]
    table = pa.Table.from_pylist(rows, SCHEMA)
    write_deltalake(root / "lake" / "t", table, partition_by=["n"])
    return root


IN_TIME = [c for c in (*COMPARISONS, *OTHERS) if c.startswith(("d ", "ts ")) or "ts" in c]


@pytest.mark.parametrize(
    ("zone", "tried", "at_least"),
    [("UTC", [*COMPARISONS, *OTHERS], 100), ("America/New_York", IN_TIME, 10)],
    ids=["UTC", "New York"],
)
def test_spark_finds_no_row_in_a_pruned_file(
    root: Path, spark: Any, zone: str, tried: list[str], at_least: int
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.ansi.enabled", "false")  # so that no row stops the others
    table = pa.Table.from_pylist(
        [{**row, "n": number} for number, row in enumerate(_typed())], SCHEMA
    )
    session.createDataFrame(table).createOrReplaceTempView("t")
    conditions = [condition for condition in tried if _is_valid(session, condition)]
    views = root / "views"
    shutil.rmtree(views, ignore_errors=True)
    views.mkdir()
    manifest = f'[project]\nname = "p"\n[settings]\ntime_zone = "{zone}"\nansi = false\n'
    (root / "headrace.toml").write_text(manifest + '[sources.t]\nuri = "lake/t"\n')
    for number, condition in enumerate(conditions):
        (views / f"v{number:04}.sql").write_text(f"SELECT n FROM t WHERE {condition}")
    planned = Project.load(root).plan().views
    files_kept = {
        number: {int(path.split("/")[0].removeprefix("n=")) for path in view.unit("t").paths}
        for number, view in enumerate(planned.values())
    }
    columns = ", ".join(f"({condition}) AS c{i}" for i, condition in enumerate(conditions))
    verdicts = session.sql(f"SELECT n, {columns} FROM t").collect()
    lost_rows = [
        (conditions[number], row["n"], planned[f"v{number:04}"].unit("t").where)
        for row in verdicts
        for number in range(len(conditions))
        if row[f"c{number}"] and row["n"] not in files_kept[number]
    ]
    assert lost_rows == []
    assert sum(len(files) < len(ROWS) for files in files_kept.values()) >= at_least


def _typed() -> list[dict[str, Any]]:
    return [{**row, "dec": None if row["dec"] is None else Decimal(row["dec"])} for row in ROWS]


def _is_valid(session: Any, condition: str) -> bool:
    """Whether Spark accepts the condition: it does not compare some pairs of types."""
    try:
        session.sql(f"SELECT ({condition}) AS c FROM t")
    except Exception:  # noqa: BLE001  (whatever it says, it is no condition)
        return False
    return True
