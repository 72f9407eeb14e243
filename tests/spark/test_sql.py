"""Table functions: query the log of a table in SQL."""

from pathlib import Path

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace.spark.table_function import FILE_COLUMNS
from tests.docs.lake import write_demo_lake
from tests.listing import batch_rows


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    headrace.spark.register(spark)
    return spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_lake(tmp_path_factory.mktemp("sql"))


@pytest.mark.parametrize(
    ("arguments", "version", "where"),
    [
        ("'{table}'", None, None),
        ("path => '{table}', version => 7", 7, None),
        (
            "path => '{table}', where => 'city = \"Bern\" AND id > 500'",
            None,
            "city = 'Bern' AND id > 500",
        ),
        ("where => 'id < 100', version => 30, path => '{table}'", 30, "id < 100"),
    ],
)
def test_files_are_those_of_a_scan(
    session: SparkSession, table: Path, arguments: str, version: int | None, where: str | None
) -> None:
    query = f"SELECT * FROM headrace_files({arguments.format(table=table)})"
    rows = session.sql(query).toArrow()
    scan = headrace.Table(table).snapshot(version=version).scan(where=where)
    assert batch_rows(rows.to_batches()) == batch_rows(scan.batches(columns=list(FILE_COLUMNS)))


def test_files_as_of_a_time(session: SparkSession, table: Path) -> None:
    query = f"SELECT count(*) FROM headrace_files('{table}', as_of => '2100-01-01')"
    assert session.sql(query).collect()[0][0] == headrace.Table(table).snapshot().scan().count()


def test_a_snapshot_is_one_row_per_table_and_version(session: SparkSession, table: Path) -> None:
    rows = session.sql(
        "SELECT v.number, s.* FROM VALUES (3), (40) AS v(number), "
        f"LATERAL headrace_snapshot(path => '{table}', version => v.number) AS s ORDER BY 1"
    ).collect()
    assert [(row.number, row.version, row.checkpoint_version) for row in rows] == [
        (3, 3, None),
        (40, 40, 20),
    ]
    assert rows[1].partition_columns == ["date", "city"]
    expected_ms = headrace.Table(table).snapshot().timestamp_ms
    assert int(rows[1].timestamp.timestamp() * 1000) == expected_ms


def test_a_wrong_argument_raises_its_own_error(session: SparkSession, table: Path) -> None:
    with pytest.raises(PythonException, match="VersionNotFoundError"):
        session.sql(f"SELECT * FROM headrace_snapshot('{table}', version => 99)").collect()
