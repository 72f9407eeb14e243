"""Which change moves which of the three hashes, and what `why` says about it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.pipeline import CauseKind, Project, explain_change, explain_view
from tests.pipeline.shop import (
    append_orders,
    append_unread,
    append_weather,
    delete_orders,
    edit,
    write_shop,
)

SAME, OTHER = "same", "other"


@dataclass(frozen=True)
class Mutation:
    """One change to the project or its lake, and what it must do to the view `revenue`."""

    name: str
    change: Callable[[Path], None]
    plan: str
    key: str
    bundle: str
    cause: tuple[CauseKind, str] | None = None
    """The kind of cause that is named, and a part of its text."""


def _sql(old: str, new: str) -> Callable[[Path], None]:
    return lambda root: edit(root / "views" / "revenue.sql", old, new)


def _function(old: str, new: str) -> Callable[[Path], None]:
    return lambda root: edit(root / "functions.py", old, new)


def _manifest(old: str, new: str) -> Callable[[Path], None]:
    return lambda root: edit(root / "headrace.toml", old, new)


def _rename_alias(root: Path) -> None:
    _sql(" orders o\n", " orders ord\n")(root)
    _sql("o.", "ord.")(root)


K = CauseKind
PROFILE = "[profiles.dev]\nparallelism = 4\n\n"
MUTATIONS = [
    Mutation("comment", _sql("FROM orders o", "-- all\nFROM orders o"), SAME, SAME, SAME),
    Mutation("description", _sql("Revenue of each", "Money of each"), SAME, SAME, SAME),
    Mutation("layout", _sql("\nJOIN", "\n\n     JOIN"), SAME, SAME, SAME),
    Mutation("keyword case", _sql("SELECT c.name AS", "select c.name as"), SAME, SAME, SAME),
    Mutation("function case", _sql("sum(o.amount)", "SUM(o.amount)"), SAME, SAME, SAME),
    Mutation(
        "table alias",
        _rename_alias,
        SAME,
        OTHER,
        OTHER,
        (K.TOKEN, "`o` became `ord`"),
    ),
    Mutation(
        "column alias",
        _sql("AS name", "AS customer"),
        OTHER,
        OTHER,
        OTHER,
        (K.TOKEN, "`name` became `customer` behind `. name as`"),
    ),
    Mutation(
        "literal", _sql("2024", "2023"), OTHER, OTHER, OTHER, (K.TOKEN, "`2024` became `2023`")
    ),
    Mutation(
        "text that has the same plan",
        _sql("o.amount >= :least", "o.amount >= try_cast(:least AS INT)"),
        SAME,
        OTHER,
        OTHER,
        (K.TOKEN, "try_cast"),
    ),
    Mutation(
        "function body",
        _function("scale(ids), 1", "scale(ids), 2"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its body changed"),
    ),
    Mutation("function comment", _function("FACTOR = 3", "FACTOR = 3  # why"), SAME, SAME, SAME),
    Mutation("docstring", _function("Points of a", "The points of a"), SAME, SAME, SAME),
    Mutation(
        "helper of a function",
        _function("return pc.multiply(values, FACTOR)", "return pc.multiply(FACTOR, values)"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its helper functions.py:scale changed"),
    ),
    Mutation(
        "constant of a helper",
        _function("FACTOR = 3", "FACTOR = 4"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its helper functions.py:FACTOR changed"),
    ),
    Mutation("unrelated function", _function("utf8_upper", "utf8_lower"), SAME, SAME, SAME),
    Mutation("table that no view reads", append_unread, SAME, SAME, SAME),
    Mutation("table of another view", lambda root: append_weather(root, day=2), SAME, SAME, OTHER),
    Mutation("unrelated variable", _manifest('"unused"', '"x"'), SAME, SAME, SAME),
    Mutation(
        "appended irrelevant partition",
        lambda root: append_orders(root, year=2025, count=5),
        SAME,
        SAME,
        OTHER,
    ),
    Mutation(
        "appended relevant partition",
        lambda root: append_orders(root, year=2024, count=15),
        SAME,
        OTHER,
        OTHER,
        (K.FILE, "source orders: 1 file added: year=2024/"),
    ),
    Mutation(
        "file that statistics rule out",
        lambda root: append_orders(root, year=2024, count=1),
        SAME,
        SAME,
        OTHER,
    ),
    Mutation(
        "deleted rows",
        lambda root: delete_orders(root, "year = 2024 AND id = 5"),
        SAME,
        OTHER,
        OTHER,
        (K.FILE, "file removed: year=2024/"),
    ),
    Mutation(
        "time zone",
        _manifest('"UTC"', '"Europe/Zurich"'),
        OTHER,
        OTHER,
        OTHER,
        (K.SETTING, "setting time_zone was UTC and is Europe/Zurich"),
    ),
    Mutation(
        "ANSI mode",
        _manifest("[settings]", "[settings]\nansi = false"),
        OTHER,
        OTHER,
        OTHER,
        (K.SETTING, "setting ansi was true and is false"),
    ),
    Mutation(
        "variable",
        _manifest("least = 10", "least = 11"),
        OTHER,
        OTHER,
        OTHER,
        (K.VARIABLE, "variable least was int:10 and is int:11"),
    ),
    Mutation(
        "profile",
        _manifest("[settings]", "[profiles.dev]\nparallelism = 4\n\n[settings]"),
        SAME,
        SAME,
        SAME,
    ),
    Mutation(
        "way of writing",
        _sql("@materialise output", "@materialise output\n-- @write append"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting write was overwrite and is append"),
    ),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_change_moves_the_hashes_that_it_should_and_is_named(
    mutation: Mutation, tmp_path: Path
) -> None:
    root = write_shop(tmp_path / "shop")
    before = Project.load(root).plan()
    mutation.change(root)
    after = Project.load(root).plan()
    old, new = before["revenue"], after["revenue"]
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
        assert {cause.kind for cause in causes} == {kind}
        assert any(text in str(cause) for cause in causes), [*map(str, causes)]


def test_a_cause_is_followed_to_the_view_where_it_lies(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    before = Project.load(root).plan()
    edit(root / "views" / "revenue.sql", "2024", "2023")
    after = Project.load(root).plan()
    direct = explain_change(before["top"].key, after["top"].key)
    assert [(cause.kind, cause.text) for cause in direct] == [(K.UPSTREAM, "view revenue changed")]
    causes = explain_view(before.views, after.views, "top")
    told = "view revenue: `2024` became `2023` behind `. year =`"
    assert [(cause.kind, cause.text) for cause in causes] == [(K.TOKEN, told)]
    assert explain_view(before.views, after.views, "forecast") == ()
    assert [cause.kind for cause in explain_view({}, after.views, "top")] == [K.NEW]


def _moved(old: str | None, new: str | None) -> str:
    return SAME if old == new else OTHER
