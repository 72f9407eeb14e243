"""Neither the time of a run nor the size of its store grows with the number of earlier runs."""

from math import inf
from pathlib import Path

from benchmarks.pipeline_history import Preparation, run_once, size_of
from headrace.pipeline import Project, ViewStatus


def test_a_long_history_is_compact_and_the_next_run_skips_everything(tmp_path: Path) -> None:
    root = tmp_path / "project"
    Preparation(root, 120).advance(until_s=inf)
    assert size_of(root).files < 200
    run_once(root)
    runs = Project.load(root).runs()
    assert len(runs) == 121
    newest = Project.load(root).show(runs[0].id)
    assert {view.status for view in newest.views.values()} == {ViewStatus.SKIPPED}
