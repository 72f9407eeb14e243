"""Appending never adds a whole result again, unless the author asks for it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import AppendRepeatsError, InvalidViewError
from headrace.pipeline import Project, RunRecord, ViewStatus
from headrace.pipeline.execution.view_work import ViewWork
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


@pytest.mark.parametrize("moment", ["_table", "_note"])
def test_copies_of_a_project_that_run_at_once_append_a_result_once(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The other copy appends while this one computes the view, or just before it does so."""
    (shop / "views" / "log.sql").write_text(f"{HEADER}-- @append all\nSELECT day FROM weather\n")
    manifest = (shop / "headrace.toml").read_text()
    shared = f'name = "shop"\noutputs = "{tmp_path / "shared"}"'
    (shop / "headrace.toml").write_text(manifest.replace('name = "shop"', shared))
    copy = shutil.copytree(shop, tmp_path / "copy")
    others: list[RunRecord] = []
    original = getattr(ViewWork, moment)

    def run_other(work: ViewWork, *arguments: Any, **options: Any) -> Any:
        if not others:
            monkeypatch.setattr(ViewWork, moment, original)
            others.append(Project.load(copy).run(engine="datafusion", select=["log"]))
        return original(work, *arguments, **options)

    monkeypatch.setattr(ViewWork, moment, run_other)
    project = Project.load(shop)
    record = project.run(engine="datafusion", select=["log"])
    record.check()
    assert others[0].views["log"].status is record.views["log"].status is ViewStatus.RAN
    table = Table(tmp_path / "shared" / "log")
    assert table.snapshot().rows().read_all().num_rows == 2
    outputs = [run.views["log"].output for run in (record, others[0])]
    assert len({output.commit_id for output in outputs if output is not None}) == 1
    assert project.run(engine="datafusion", select=["log"]).count(ViewStatus.SKIPPED) == 1


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
