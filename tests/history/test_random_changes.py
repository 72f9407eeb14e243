"""The changes of a log are those of its commits, whatever else the log contains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import LogGapError
from tests.effort import examples
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.oracle import dv_id

_NAMES = {"added": "add", "removed": "remove"}


@pytest.mark.property
@settings(max_examples=examples(60))
@given(plans(most_commits=6), st.integers(0, 5))
def test_changes_are_the_actions_of_the_commits_in_order(plan: Plan, number: int) -> None:
    start = number % len(plan.history)
    expected = [
        (version, name, action["path"], dv_id(action.get("deletionVector")))
        for version, commit in enumerate(plan.history)
        for line in commit
        for name, action in line.items()
        if version >= start and name in _NAMES.values()
    ]
    with plan.on_disk() as table:
        changes = headrace.Table(str(table)).changes(start)
        if start <= plan.cleaned_to:
            with pytest.raises(LogGapError):
                list(changes)
            return
        listed = [(c.version, _NAMES[c.kind], c.path, c.dv_id) for c in changes]
    assert [version for version, *_ in listed] == [version for version, *_ in expected]
    assert sorted(listed, key=str) == sorted(expected, key=str)
