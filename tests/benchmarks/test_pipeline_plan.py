"""Planning time is linear in the number of views, whatever the shape of their graph."""

from pathlib import Path

import pytest

from benchmarks.pipeline_plan import SHAPES, plan_seconds, write_project


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_view_of_a_larger_project_takes_no_longer(tmp_path: Path, shape: str) -> None:
    small = write_project(tmp_path / "small", SHAPES[shape], 20)
    large = write_project(tmp_path / "large", SHAPES[shape], 80)
    plan_seconds(small)  # one-time imports and parsing
    assert plan_seconds(large) / 80 < 2 * plan_seconds(small) / 20
