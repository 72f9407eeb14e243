"""Random typed queries: each returns Spark's rows on DataFusion, or is refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.refusal import Refused
from tests.effort import IS_SOAK, examples
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES
from tests.pipeline.differential.random_generator import generations
from tests.pipeline.differential.random_lambda import lambda_calls
from tests.pipeline.differential.random_query import aggregations, projections, queries

ANSI = Settings()
LENIENT = Settings(ansi=False)
ZURICH = Settings(time_zone="Europe/Zurich")
_QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    derandomize=not IS_SOAK,
)
"""Failures are not shrunk: shrinking would run a thousand Spark queries. A gate always tries the
same statements, so that a change is judged by itself; `make soak` looks for new ones."""


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    counts = Tally()
    yield counts
    print(f"random queries: {counts}")  # noqa: T201  (the counts are what it measures)


def check(sql: str, session: Any, tally: Tally, given_settings: Settings) -> None:
    try:
        prepared = Prepared(sql, TABLES, given_settings)
    except Refused:
        tally.refused += 1
        return
    session.conf.set("spark.sql.ansi.enabled", str(given_settings.ansi).lower())
    session.conf.set("spark.sql.session.timeZone", given_settings.time_zone)
    before = len(tally.different)
    tally.count(sql, prepared.rows(), spark_rows(session, sql))
    assert tally.different[before:] == []


@pytest.mark.property
@settings(_QUICK, max_examples=examples(60))
@given(expression=projections())
def test_a_random_expression(expression: str, session: Any, tally: Tally) -> None:
    for table in TABLES:
        check(f"SELECT k, {expression} AS a FROM {table}", session, tally, ANSI)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(60))
@given(sql=queries())
def test_a_random_query(sql: str, session: Any, tally: Tally) -> None:
    check(sql, session, tally, ANSI)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(25))
@given(expression=projections())
def test_a_random_expression_without_ansi(expression: str, session: Any, tally: Tally) -> None:
    check(f"SELECT k, {expression} AS a FROM everyday", session, tally, LENIENT)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(25))
@given(expression=projections())
def test_a_random_expression_in_another_zone(expression: str, session: Any, tally: Tally) -> None:
    check(f"SELECT k, {expression} AS a FROM extreme", session, tally, ZURICH)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(25))
@given(expression=lambda_calls())
def test_a_random_call_with_a_lambda(expression: str, session: Any, tally: Tally) -> None:
    for table in TABLES:
        check(f"SELECT k, {expression} AS a FROM {table}", session, tally, ANSI)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(25))
@given(sql=generations())
def test_a_random_generator(sql: str, session: Any, tally: Tally) -> None:
    check(sql, session, tally, ANSI)


@pytest.mark.property
@settings(_QUICK, max_examples=examples(25))
@given(sql=aggregations())
def test_a_random_aggregation(sql: str, session: Any, tally: Tally) -> None:
    check(sql, session, tally, ANSI)
