"""Views as analysts write them, over the hard tables: equal on both runners, or refused."""

from pathlib import Path
from typing import Any

import pytest

from headrace.pipeline.project.setting import Settings
from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Tally, prepare, spark_rows
from tests.pipeline.differential.hard_table import TABLES


def _views(*topics: str) -> list[str]:
    """Return the views of some topics, or all."""
    views, topic = [], ""
    for line in Path(__file__).with_name("analyst_views.sql").read_text("utf-8").splitlines():
        if line.startswith("-- "):
            topic = line.removeprefix("-- ")
        elif not topics or topic in topics:
            views.append(line)
    return views


@pytest.mark.parametrize(
    ("zone", "topics"), [("UTC", ()), ("Europe/Zurich", ("dates",))], ids=["UTC", "Zurich"]
)
def test_an_analysts_view_is_equal_or_refused(
    zone: str, topics: tuple[str, ...], session: Any
) -> None:
    session.conf.set("spark.sql.session.timeZone", zone)
    tally = Tally()
    try:
        for sql in _views(*topics):
            try:
                prepared = prepare(sql, TABLES, Settings(time_zone=zone))
            except Refused:
                tally.refused += 1
                continue
            tally.count(sql, prepared.rows(), spark_rows(session, sql))
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    print(f"views of analysts in {zone}: {tally}")  # noqa: T201  (the counts are what it measures)
    assert tally.different == []
