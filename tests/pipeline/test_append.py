"""Appending never adds a whole result again, unless the author asks for it."""

from pathlib import Path

import pytest

from headrace import Table
from headrace.errors import AppendRepeatsError, InvalidViewError
from headrace.pipeline import Project
from tests.pipeline.shop import append_weather

HEADER = "-- @materialise output\n-- @write append\n"
BUILDER = """\
from headrace.pipeline import view


@view(materialise="output", write="append"{more})
def built(spark):
    return spark.table("weather")
"""


@pytest.mark.parametrize("relation", ["weather", "forecast"])
def test_a_view_that_would_append_its_rows_again_is_refused(shop: Path, relation: str) -> None:
    (shop / "views" / "log.sql").write_text(f"{HEADER}SELECT day FROM {relation}\n")
    with pytest.raises(AppendRepeatsError, match="say '@append all'") as caught:
        Project.load(shop).plan()
    assert (caught.value.view, caught.value.reads) == ("log", (relation,))


def test_an_author_may_request_appending_whole_results(shop: Path) -> None:
    text = f"{HEADER}-- @append all\nSELECT day, degrees FROM weather\n"
    (shop / "views" / "log.sql").write_text(text)
    project = Project.load(shop)
    for day, rows in ((2, 2), (3, 2 + 4)):
        project.run(engine="datafusion", select=["log"]).check()
        assert Table(shop / "output" / "log").snapshot().rows().read_all().num_rows == rows
        append_weather(shop, day=day)


def test_a_view_without_inputs_appends_its_rows(shop: Path) -> None:
    (shop / "views" / "log.sql").write_text(f"{HEADER}SELECT current_timestamp() AS at\n")
    assert Project.load(shop).plan()["log"].skip_key is None


def test_a_builder_requests_it_in_its_decorator(shop: Path) -> None:
    (shop / "views" / "built.py").write_text(BUILDER.format(more=""))
    with pytest.raises(AppendRepeatsError):
        Project.load(shop).plan()
    (shop / "views" / "built.py").write_text(BUILDER.format(more=', append="all"'))
    assert Project.load(shop).plan()["built"].header.append == "all"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("-- @append all", "@append is for an output"),
        ("-- @materialise output\n-- @append all", "@append is for '@write append'"),
        (f"{HEADER}-- @append new", "@append is all, not 'new'"),
    ],
)
def test_a_misplaced_append_header_is_refused(shop: Path, header: str, reason: str) -> None:
    (shop / "views" / "log.sql").write_text(f"{header}\nSELECT day FROM weather\n")
    with pytest.raises(InvalidViewError, match=reason):
        Project.load(shop).plan()
