"""A condition means the same on Spark, through whichever interface it is passed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace.spark
from headrace.errors import InvalidArgumentError
from headrace.spark.time_zone import parse_zone
from tests.lake.log import write_commit
from tests.rows.lake import field, table_lines
from tests.spark.lake import data_file

ZONE = "spark.sql.session.timeZone"
START = datetime(2026, 3, 7, 22, tzinfo=UTC)
CONDITIONS = [
    "at = '2026-03-08 01:00:00' OR at = '2026-03-08 03:00:00'",
    "at >= DATE '2026-03-08' AND at < TIMESTAMP '2026-03-08 02:30:00'",
    "at = '2026-03-08 01:00:00Z' OR day < TIMESTAMP '2026-03-08 01:00:00Z'",
    "wall >= '2026-03-08 02:30:00' AND NOT (at <= '2026-03-08 01:00')",
]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    headrace.spark.register(spark)
    before = spark.conf.get(ZONE)
    yield spark
    spark.conf.set(ZONE, str(before))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hours")
    fields = [
        field("id", "long"),
        field("at", "timestamp"),
        field("wall", "timestamp_ntz"),
        field("day", "date"),
    ]
    lines = table_lines(fields)
    for number in range(3):
        ids = range(12 * number, 12 * (number + 1))
        times = [START + timedelta(minutes=30 * n) for n in ids]
        data = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "at": pa.array(times, pa.timestamp("us", "UTC")),
                "wall": pa.array([t.replace(tzinfo=None) for t in times], pa.timestamp("us")),
                "day": pa.array([t.date() for t in times]),
            }
        )
        lines.append(data_file(folder, f"{number}.parquet", data))
    write_commit(folder, 0, lines)
    return folder


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_the_data_source_uses_the_zone_of_the_session(session: SparkSession, table: Path) -> None:
    session.conf.set(ZONE, "America/New_York")
    for condition in CONDITIONS:
        expected = ids(headrace.spark.read(session, table, where=condition))
        source = session.read.format("headrace").option("where", condition)
        assert ids(source.load(str(table))) == expected, condition


def test_the_zone_of_the_option_takes_precedence(session: SparkSession, table: Path) -> None:
    session.conf.set(ZONE, "+05:30")
    expected = ids(headrace.spark.read(session, table, where=CONDITIONS[0]))
    session.conf.set(ZONE, "America/New_York")
    options = {"where": CONDITIONS[0], "timeZone": "+05:30"}
    assert ids(session.read.format("headrace").options(**options).load(str(table))) == expected


@pytest.mark.parametrize("name", ["Mars/Olympus", "+99:00", "../etc/passwd", ""])
def test_an_invalid_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_zone(name)
