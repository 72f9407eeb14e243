"""Random conditions: Headrace returns exactly the rows for which Spark evaluates them to true."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import headrace.spark
from headrace.errors import RequestError
from headrace.expr.bind import bind
from headrace.expr.node import Basis
from headrace.expr.parse import parse_predicate
from headrace.spark.time_zone import parse_zone
from headrace.table import Snapshot
from tests.effort import examples
from tests.listing import open_snapshot
from tests.spark.conditions import condition, write_table

CONDITIONS = min(examples(500), 20_000)
ASKED_AT_ONCE = 40
ZONE, ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
ZONES = ("UTC", "America/New_York", "+05:30")
SESSIONS = [(zone, ansi) for zone in ZONES for ansi in ("true", "false")]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("conditions"))


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: str(spark.conf.get(name)) for name in (ZONE, ANSI)}
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def spark_ids(frame: DataFrame, conditions: tuple[str, ...]) -> list[list[int] | None]:
    """Return the rows for which each condition is true, or None if Spark refuses it."""
    try:
        # As columns, conditions cannot filter anything.
        judged = frame.selectExpr("id", *(f"({text}) AS k{n}" for n, text in enumerate(conditions)))
        rows = judged.toArrow()
    except PySparkException:
        if len(conditions) == 1:
            return [None]
        half = len(conditions) // 2
        return spark_ids(frame, conditions[:half]) + spark_ids(frame, conditions[half:])
    ids = rows["id"].to_pylist()
    return [
        sorted(i for i, keep in zip(ids, rows[f"k{n}"].to_pylist(), strict=True) if keep)
        for n in range(len(conditions))
    ]


def headrace_ids(snapshot: Snapshot, text: str, zone: str) -> list[int] | None:
    """Return the rows that Headrace returns, or None if it refuses the condition."""
    try:
        bound = bind(
            parse_predicate(text),
            schema=snapshot.logical_schema,
            partition_columns=snapshot.partition_columns,
            basis=Basis.VALUES,
            zone=parse_zone(zone),
        )
        reader = snapshot.rows(where=str(bound), columns=["id"])
    except RequestError:
        return None
    ids: Any = reader.read_all()["id"].to_pylist()
    return sorted(ids)


@pytest.mark.property
@pytest.mark.parametrize(("zone", "ansi"), SESSIONS)
def test_rows_are_those_for_which_spark_finds_a_condition_true(
    session: SparkSession, table: Path, zone: str, ansi: str
) -> None:
    session.conf.set(ZONE, zone)
    session.conf.set(ANSI, ansi)
    draw = random.Random(f"{zone} {ansi}")
    conditions = [condition(draw) for _ in range(CONDITIONS // len(SESSIONS) + 1)]
    snapshot = open_snapshot(table)
    frame = headrace.spark.read(session, table).persist()
    ids_by_condition = {text: headrace_ids(snapshot, text, zone) for text in conditions}
    accepted = [text for text, ids in ids_by_condition.items() if ids is not None]
    expected: dict[str, list[int] | None] = {}
    for start in range(0, len(accepted), ASKED_AT_ONCE):
        together = tuple(accepted[start : start + ASKED_AT_ONCE])
        expected |= dict(zip(together, spark_ids(frame, together), strict=True))
    frame.unpersist()
    judged = {text: ids for text, ids in expected.items() if ids is not None}
    assert [
        (text, ids_by_condition[text], ids)
        for text, ids in judged.items()
        if ids_by_condition[text] != ids
    ] == []
    # Most conditions must be usable.
    assert len(judged) > len(conditions) // 2
