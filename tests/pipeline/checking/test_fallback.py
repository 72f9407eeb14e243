"""A stored plan that cannot be run is replaced by its SQL, and this is reported clearly."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.app import app
from headrace.pipeline import Project
from headrace.pipeline.runners.datafusion import runner
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.run_record import RunStatus


class UnreadablePlans:
    """Stands in for a DataFusion that cannot read plans of an older release."""

    @staticmethod
    def from_substrait_plan(*_: object) -> None:
        raise RuntimeError("an operator that nobody knows")


def headrace(*words: str) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return " ".join(result.stdout.split())


@pytest.fixture
def shop(tmp_path: Path) -> str:
    headrace("init", str(tmp_path / "shop"))
    return str(tmp_path / "shop")


def test_a_new_project_runs_without_a_fallback_and_analysing_reports_what_ran(shop: str) -> None:
    record = Project.load(shop).run(engine="datafusion", analyse=True)
    assert (record.status, record.fallbacks) == (RunStatus.SUCCEEDED, {})
    assert "fallbacks: none" in headrace("show", "latest", shop)
    plans = Project.load(shop).store.plans(record, "order_sizes")
    rows = record.views["order_sizes"].rows
    first, measured = plans[PlanStage.ANALYSED].splitlines()[:2]
    assert first == plans[PlanStage.PHYSICAL].splitlines()[0]
    assert f"rows={rows}," in measured


def test_a_fallback_is_recorded_counted_and_shown(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Project.load(shop).run(engine="datafusion").views["order_sizes"].digest
    monkeypatch.setattr(runner, "Consumer", UnreadablePlans)
    record = Project.load(shop).run(engine="datafusion", full_refresh=True)
    assert record.views["order_sizes"].digest == expected
    why = "an operator that nobody knows; of kept_orders: an operator that nobody knows"
    assert record.fallbacks == {"order_sizes": why, "revenue_by_city": why}
    shown = headrace("show", "latest", shop)
    assert "fallbacks: 2" in shown
    assert "its SQL was run, not its stored plan: an operator that nobody knows" in shown
    page = tmp_path / "page.html"
    headrace("docs", shop, "--out", str(page))
    assert "its latest run ran its SQL, not its stored plan" in page.read_text()
