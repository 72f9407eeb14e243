"""Which change affects which of the three hashes, and how `why` explains it."""

from pathlib import Path

import pytest

from headrace.pipeline import CauseKind, Project, explain_change, explain_view
from tests.pipeline.mutations.mutation import NONE, OTHER, SAME, Mutation
from tests.pipeline.mutations.table import MUTATIONS
from tests.pipeline.shop import edit, write_shop

K = CauseKind


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_change_affects_the_expected_hashes_and_is_named(
    mutation: Mutation, tmp_path: Path
) -> None:
    root = write_shop(tmp_path / "shop")
    mutation.before(root)
    before = Project.load(root).plan()
    mutation.change(root)
    after = Project.load(root).plan(profile=mutation.profile)
    old, new = before[mutation.view], after[mutation.view]
    assert (
        _moved(old.plan_fingerprint, new.plan_fingerprint),
        _moved(old.skip_key, new.skip_key),
        _moved(before.id, after.id),
    ) == (mutation.plan, mutation.key, mutation.bundle)
    causes = explain_change(old.key, new.key, old_units=old.units, new_units=new.units)
    if mutation.cause is None:
        assert causes == ()
    else:
        kind, text = mutation.cause
        declared = {K.FUNCTION} if kind is K.VOLATILE else set()  # it is part of the signature, too
        assert {cause.kind for cause in causes} - declared == {kind}
        assert any(text in str(cause) for cause in causes), [*map(str, causes)]


def test_a_cause_is_traced_to_the_view_that_changed(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    before = Project.load(root).plan()
    edit(root / "views" / "revenue.sql", "2024", "2023")
    after = Project.load(root).plan()
    direct = explain_change(before["top"].key, after["top"].key)
    assert [(cause.kind, cause.text) for cause in direct] == [(K.UPSTREAM, "view revenue changed")]
    causes = explain_view(before.views, after.views, "top")
    expected = "view revenue: `2024` became `2023` after `. year =`"
    assert [(cause.kind, cause.text) for cause in causes] == [(K.TOKEN, expected)]
    assert explain_view(before.views, after.views, "forecast") == ()
    assert [cause.kind for cause in explain_view({}, after.views, "top")] == [K.NEW]


def _moved(old: str | None, new: str | None) -> str:
    if new is None:
        return NONE
    return SAME if old == new else OTHER
