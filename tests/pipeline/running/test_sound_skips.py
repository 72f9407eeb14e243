"""After any change, a run produces the same tables as a project without a history."""

import logging
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.errors import RunFailedError
from headrace.pipeline import Project, ViewStatus
from tests.effort import examples
from tests.pipeline.embedded import run_checked
from tests.pipeline.running.random_project import CHANGES, Change, projects

_LOGGER = logging.getLogger(__name__)
TALLY: Counter[str] = Counter()
REFUSED = "a recreated output"
"""A table that another writer created is not overwritten."""


def tables(root: Path) -> dict[str, list[str]]:
    """Return the rows of all outputs that the current views write."""
    return {
        name: sorted(
            map(repr, Table(root / "output" / name).snapshot().rows().read_all().to_pylist())
        )
        for name, view in Project.load(root).views.items()
        if view.header.materialise == "output"
    }


def fresh(root: Path, place: Path) -> dict[str, list[str]]:
    """Return the tables of the same project, run for the first time."""
    shutil.copytree(root, place, ignore=shutil.ignore_patterns(".headrace", "output"))
    run_checked(place)
    return tables(place)


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    project=projects(),
    changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=3, unique=True),
)
def change_and_compare(project: Change, changes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        project(root)
        run_checked(root)
        before = tables(root)
        for turn, name in enumerate(changes):
            CHANGES[name](root)
            try:
                record = run_checked(root)
            except RunFailedError:
                assert name == REFUSED
                return
            expected = fresh(root, Path(folder) / f"fresh-{turn}")
            assert tables(root) == expected, name
            skipped = record.count(ViewStatus.SKIPPED)
            TALLY.update(
                changed=expected != before, skipped=skipped, ran=len(record.views) - skipped
            )
            before = expected
    _LOGGER.info("%s", TALLY)


@pytest.mark.property
@pytest.mark.timeout(7200)
def test_a_view_whose_result_changes_is_never_skipped() -> None:
    TALLY.clear()
    change_and_compare()
    assert TALLY["changed"], "no change changed a result, so that the property says nothing"
    assert TALLY["skipped"], "no view was skipped, so that the property says nothing"
