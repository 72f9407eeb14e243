"""We read what Spark's own Delta writes: every version, with Arrow and on Spark."""

from pathlib import Path
from typing import Any

import pytest

import headrace
from tests.rows.naive import bag
from tests.rows.variant import decode
from tests.spark_delta.cases import CASES, Case


@pytest.fixture(scope="session", params=CASES, ids=lambda case: case.name)
def written(request: Any, spark: Any, tmp_path_factory: Any) -> tuple[Case, Path]:
    """A case, and the table that Spark created from it."""
    table = tmp_path_factory.mktemp("lake") / request.param.name
    for statement in request.param.statements(str(table)):
        spark.sql(statement)
    return request.param, table


def rows(table: Any) -> Any:
    """Return the rows of an Arrow table as a bag; variants are compared by value."""
    decoded = (_decoded(row) for row in table.to_pylist())
    return bag(decoded, table.column_names)


def _decoded(value: Any) -> Any:
    match value:
        case {"value": bytes() as found, "metadata": bytes() as names}:
            return decode(found, names)
        case dict():
            return {key: _decoded(part) for key, part in value.items()}
        case _:
            return value


def delta(spark: Any, table: Path, version: int) -> Any:
    """Return a version as Spark's Delta reads it."""
    return spark.read.format("delta").option("versionAsOf", version).load(str(table))


def on_spark(spark: Any, table: Path, **request: Any) -> Any:
    """Return the same by Spark's native scan over our files."""
    from headrace.spark import read  # noqa: PLC0415  (PySpark is wanted only here)

    return read(spark, table, **request).toArrow()


def versions(table: Path) -> range:
    return range(headrace.Table(table).snapshot().version + 1)


def test_every_version_has_the_rows_of_sparks_delta(spark: Any, written: tuple[Case, Path]) -> None:
    _, table = written
    for version in versions(table):
        expected = delta(spark, table, version).toArrow()
        ours = headrace.Table(table).snapshot(version=version).rows().read_all()
        assert ours.column_names == expected.column_names, version
        assert rows(ours) == rows(expected), version


def test_every_version_has_the_same_rows_on_spark(spark: Any, written: tuple[Case, Path]) -> None:
    _, table = written
    for version in versions(table):
        expected = delta(spark, table, version).toArrow()
        assert rows(on_spark(spark, table, version=version)) == rows(expected), version


def test_a_condition_is_true_for_the_rows_that_spark_finds(
    spark: Any, written: tuple[Case, Path]
) -> None:
    case, table = written
    snapshot = headrace.Table(table).snapshot()
    for condition in case.conditions:
        expected = delta(spark, table, snapshot.version).where(condition).toArrow()
        ours = snapshot.rows(where=condition).read_all()
        assert rows(ours) == rows(expected), condition
        assert rows(on_spark(spark, table, where=condition)) == rows(expected), condition


def test_a_shallow_clone_reads_the_files_of_its_source(
    spark: Any, written: tuple[Case, Path]
) -> None:
    _, table = written
    clone = table.with_name(f"{table.name}-clone")
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{table}`")
    expected = spark.read.format("delta").load(str(clone)).toArrow()
    assert rows(headrace.Table(clone).snapshot().rows().read_all()) == rows(expected)
    assert rows(on_spark(spark, clone)) == rows(expected)
