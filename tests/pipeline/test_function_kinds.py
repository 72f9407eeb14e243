"""Aggregate, window and table functions: the same rows on both runners, or a refusal.

The oracle is plain Python: `tests.pipeline.kind_oracle`.
"""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import InvalidFunctionError, InvalidViewError
from headrace.pipeline import Project, RunRecord, ViewPlan, Volatility, aggregate, explain_change
from headrace.pipeline.functions.computation import reduce_lists, reduce_rows
from headrace.pipeline.project.folder import read_functions
from headrace.pipeline.runners.spark.expansion import expand_calls
from tests.effort import examples
from tests.pipeline.embedded import rows, run
from tests.pipeline.kind_oracle import (
    JUDGED,
    Row,
    expected_frames,
    expected_groups,
    in_order,
    joined,
    random_readings,
)
from tests.pipeline.kinds import FUNCTIONS, READINGS, SPARK_ONLY, VIEWS, write_kinds
from tests.pipeline.shop import edit


@pytest.fixture
def kinds(tmp_path: Path) -> Path:
    return write_kinds(tmp_path / "kinds")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is only planned, with one view at a time."""
    return write_kinds(tmp_path_factory.mktemp("planned") / "kinds", {})


def plan(root: Path, sql: str, engine: str) -> ViewPlan:
    (root / "views" / "one.sql").write_text(f"-- @materialise output\n{sql}\n")
    return Project.load(root).plan(engine=engine)["one"]


# --- DataFusion ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_groups_and_frames_equal_plain_python(seed: int, tmp_path: Path) -> None:
    readings = random_readings(seed, 300)
    root = write_kinds(tmp_path / "kinds", JUDGED, readings)
    record = run(root)
    record.check()
    assert in_order(rows(root, "groups")) == expected_groups(readings.to_pylist())
    assert in_order(rows(root, "frames")) == expected_frames(readings.to_pylist())


def test_no_view_falls_back_from_its_stored_plan(kinds: Path) -> None:
    record = run(kinds)
    record.check()
    assert {view.warnings for view in record.views.values()} == {()}


def test_without_grouping_an_aggregate_of_no_rows_is_computed(kinds: Path) -> None:
    run(kinds, select=["empty"]).check()
    assert rows(kinds, "empty") == [{"notes": "", "m": None}]


def test_a_table_function_takes_names_defaults_and_no_arguments(kinds: Path) -> None:
    run(kinds, select=["stepped", "coded"]).check()
    assert [(r["n"], r["label"], r["rest"]) for r in in_order(rows(kinds, "stepped"))] == [
        (2, "2", 8),
        (3, "3", 7),
        (4, "4", 6),
    ]
    assert in_order(rows(kinds, "coded")) == [
        {"m": 1, "name": "one", "code": 1, "rest": 6},
        {"m": 2, "name": None, "code": 2, "rest": 6},
    ]


@settings(max_examples=examples(40), deadline=None)
@given(
    pairs=st.lists(st.tuples(st.none() | st.floats(allow_nan=True), st.none() | st.integers(-9, 9)))
)
def test_an_aggregate_sees_the_same_rows_in_any_order(
    pairs: list[tuple[float | None, int | None]],
) -> None:
    @aggregate("DOUBLE", "INT", returns="STRING")
    def joined(values: pa.Array, numbers: pa.Array) -> str:
        return str([*zip(values.to_pylist(), numbers.to_pylist(), strict=True)])

    def columns(some: list[tuple[float | None, int | None]]) -> list[pa.Array]:
        kinds = (pa.float64(), pa.int32())
        return [pa.array([pair[i] for pair in some], kind) for i, kind in enumerate(kinds)]

    shuffled = random.Random(1).sample(pairs, len(pairs))
    one, other = (reduce_rows(joined, columns(some)) for some in (pairs, shuffled))
    assert one == other
    rows = [[{"a0": value, "a1": number} for value, number in shuffled], None, []]
    kind = pa.list_(pa.struct([("a0", pa.float64()), ("a1", pa.int32())]))
    assert reduce_lists(joined, pa.array(rows, kind), 2).to_pylist() == [one.as_py(), "[]", "[]"]


# --- What is refused -----------------------------------------------------------------------

WRONG = [
    ("SELECT joined() FROM readings", r"(?i)joined\(\): it takes \(STRING\) -> STRING, not 0"),
    ("SELECT joined(note, at) FROM readings", "not 2 arguments"),
    ("SELECT joined(notes) FROM readings", "there is no such column .*; did you mean note?"),
    ("SELECT wmean(value, weigths => weight) FROM readings", "did you mean weights?"),
    ("SELECT wmean(weights => weight) FROM readings", "values is missing"),
    ("SELECT wmean(value, values => at) FROM readings", "an argument is passed twice"),
    ("SELECT streak(value) FROM readings", "it needs OVER"),
    ("SELECT streak(value) OVER (PARTITION BY station) FROM readings", "it needs OVER"),
    ("SELECT steps(3) FROM readings", "it returns a table: call it in FROM"),
    ("SELECT less(at, 1) OVER (ORDER BY at) FROM readings", "it is a scalar function"),
    ("SELECT * FROM joined('a')", "FROM takes a table function, not one of the kind aggregate"),
    ("SELECT * FROM steps()", r"it takes \(INT, \[INT\]\) -> .*, not 0 arguments"),
]


@pytest.mark.parametrize(("sql", "message"), WRONG, ids=[sql for sql, _ in WRONG])
@pytest.mark.parametrize("engine", ["datafusion", "spark"])
def test_a_wrong_call_is_refused_when_it_is_planned(
    sql: str, message: str, engine: str, planned: Path
) -> None:
    with pytest.raises(InvalidViewError, match=message) as caught:
        plan(planned, sql, engine)
    assert (caught.value.line, caught.value.column) != (None, None)


@pytest.mark.parametrize("name", SPARK_ONLY)
def test_calls_that_only_spark_can_run_are_refused_before_datafusion_runs(
    name: str, planned: Path
) -> None:
    assert plan(planned, SPARK_ONLY[name], "datafusion").refused


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: aggregate("ARRAY<INT>", returns="INT"), "take its parts as arguments"),
        (lambda: aggregate(returns="INT"), "at least one argument"),
        (lambda: aggregate("NO_SUCH_TYPE", returns="INT"), "not a Spark SQL type"),
    ],
)
def test_a_declaration_that_no_runner_can_use_is_refused(declare: Any, message: str) -> None:
    with pytest.raises(InvalidFunctionError, match=message):
        declare()(lambda values: values)


@pytest.mark.parametrize("value", [1.5, "x", pa.scalar(2.5), [1]])
def test_a_value_that_the_declared_type_cannot_hold_is_refused(value: Any) -> None:
    function = aggregate("INT", returns="BIGINT", name="odd")(lambda _: value)
    with pytest.raises(InvalidFunctionError, match="function odd: it declares BIGINT and returned"):
        reduce_rows(function, [pa.array([1])])


def test_the_lineage_names_a_table_function(planned: Path) -> None:
    lineage = plan(planned, "SELECT n, label AS l FROM steps(2)", "datafusion").lineage
    assert lineage is not None
    assert [scan.relation for scan in lineage.scans] == ["steps()"]
    assert [column.sources for column in lineage.columns] == [("steps().n",), ("steps().label",)]


def test_the_lint_reports_that_a_window_function_depends_on_ties(planned: Path) -> None:
    view = plan(planned, "SELECT streak(value) OVER (ORDER BY at) AS s FROM readings", "spark")
    assert "WINDOW_TIES" in [finding.code for finding in view.findings]


# --- Keys ----------------------------------------------------------------------------------


def test_a_changed_helper_runs_only_the_views_that_use_it_and_why_names_it(kinds: Path) -> None:
    run(kinds).check()
    before = Project.load(kinds).plan(engine="datafusion")
    edit(kinds / "functions.py", "SCALE = 1", "SCALE = 2")
    after = Project.load(kinds).plan(engine="datafusion")
    reasons = {
        name: [cause.text for cause in explain_change(before[name].key, after[name].key)]
        for name in before.views
    }
    record = run(kinds)
    ran = {name for name, view in record.views.items() if view.status.value == "ran"}
    assert ran == {"grouped", "empty", "rising", "stepped", "coded"}
    assert {name for name, causes in reasons.items() if causes} == ran
    for name, function in [("rising", "streak"), ("stepped", "steps"), ("empty", "weighted_mean")]:
        assert any(
            function in text and "functions.py:SCALE changed" in text for text in reasons[name]
        ), reasons[name]


@pytest.mark.parametrize("name", ["joined", "streak", "steps"])
@pytest.mark.parametrize("volatility", [Volatility.VOLATILE, Volatility.STABLE])
def test_a_view_with_a_function_that_varies_is_never_skipped(
    name: str, volatility: Volatility, kinds: Path
) -> None:
    text = (kinds / "functions.py").read_text()
    head, _, rest = text.partition(f"\ndef {name}(")
    declared = head.rpartition(")")[0] + f', volatility="{volatility}")'
    (kinds / "functions.py").write_text(f"{declared}\ndef {name}({rest}")
    views = {"joined": "whole", "streak": "rising", "steps": "stepped"}
    for _ in range(2):
        record = run(kinds, select=[views[name]])
        record.check()
        assert record.views[views[name]].status.value == "ran"


def test_an_alias_has_the_fingerprint_of_its_function(kinds: Path) -> None:
    catalog = read_functions(kinds)
    assert catalog.part("wmean") == catalog.part("weighted_mean")


def test_an_alias_may_not_take_the_name_of_another_function(kinds: Path) -> None:
    edit(kinds / "functions.py", 'aliases=["wmean"]', 'aliases=["max"]')
    with pytest.raises(InvalidFunctionError, match="Spark has a function of this name"):
        Project.load(kinds)


# --- Failures ------------------------------------------------------------------------------

BROKEN = {
    "whole": ('    return "".join(', "joined failed: ValueError: \"no\" 'texts'"),
    "rising": ("    frame = values", "streak failed: ValueError: \"no\" 'texts'"),
    "stepped": ("    numbers = pa", "steps failed: ValueError: \"no\" 'texts'"),
}


def break_bodies(root: Path) -> None:
    for place, _ in BROKEN.values():
        edit(root / "functions.py", place, f"    raise ValueError('\"no\" \\'texts\\'')\n{place}")


def check_broken(root: Path, record: RunRecord, before: dict[str, list[Row]]) -> None:
    for view, (_, message) in BROKEN.items():
        failure = record.views[view].failure
        assert failure is not None
        assert failure.code == "FUNCTION_FAILED"
        assert failure.text.splitlines()[0] == f"function {message}"
        assert in_order(rows(root, view)) == before[view]


def test_a_body_that_raises_fails_its_view_and_leaves_the_output(kinds: Path) -> None:
    run(kinds).check()
    before = {view: in_order(rows(kinds, view)) for view in BROKEN}
    break_bodies(kinds)
    check_broken(kinds, run(kinds), before)


# --- Spark ---------------------------------------------------------------------------------

EXPANDED = {
    "SELECT a FROM t": "SELECT a FROM t",
    "SELECT joined(/* c */ x ) FROM t joined(x)": (
        "SELECT joined(collect_list(struct(CAST(x AS STRING) AS a0))) FROM t joined(x)"
    ),
    "SELECT `Joined`( upper(x) ) filter (where joined = 1) over w FROM t": (
        "SELECT `Joined`(collect_list(struct(CAST(upper(x) AS STRING) AS a0)) "
        "filter (where joined = 1) over w) FROM t"
    ),
    "SELECT wmean(weights => less(1, b), values => x[1]) -- wmean(a)\nFROM t": (
        "SELECT wmean(collect_list(struct(CAST(x[1] AS DOUBLE) AS a0, "
        "CAST(less(CAST(1 AS BIGINT), CAST(b AS BIGINT)) AS DOUBLE) AS a1))) -- wmean(a)\nFROM t"
    ),
    "SELECT 'joined(x)' FROM codes()": "SELECT 'joined(x)' FROM inline(codes(0))",
    "SELECT joined(DISTINCT x) filter FROM t": (
        "SELECT joined(collect_list(DISTINCT struct(CAST(x AS STRING) AS a0))) filter FROM t"
    ),
}


@pytest.mark.parametrize(("sql", "expanded"), EXPANDED.items())
def test_only_calls_are_rewritten_for_spark(sql: str, expanded: str, planned: Path) -> None:
    assert expand_calls(sql, read_functions(planned), file="x") == expanded


def test_spark_and_datafusion_give_the_rows_of_plain_python(tmp_path: Path, spark: Any) -> None:
    readings = random_readings(7, 600)
    root = write_kinds(tmp_path / "kinds", {**VIEWS, **SPARK_ONLY, **JUDGED}, readings)
    record = Project.load(root).run(session=spark)
    record.check()
    assert in_order(rows(root, "groups")) == expected_groups(readings.to_pylist())
    assert in_order(rows(root, "frames")) == expected_frames(readings.to_pylist())
    lateral = [(at, n + 1) for at in range(600) for n in range(at % 3)]
    both = [{"at": at, "n": sign * n} for at, n in lateral for sign in (1, -1)]
    assert in_order(rows(root, "lateral")) == in_order(both)
    assert in_order(rows(root, "distinct")) == [
        {"notes": joined([*{*readings["note"].to_pylist()}])}
    ]
    on_datafusion = Project.load(root).run(engine="datafusion", exclude=[*SPARK_ONLY])
    on_datafusion.check()
    for name in (*VIEWS, *JUDGED):
        digests = [run.views[name].digest for run in (record, on_datafusion)]
        assert len({digest.rows_digest for digest in digests if digest}) == 1, (name, digests)


def test_a_body_that_raises_on_spark_fails_its_view_and_leaves_the_output(
    kinds: Path, spark: Any
) -> None:
    run(kinds, select=[*BROKEN]).check()
    before = {view: in_order(rows(kinds, view)) for view in BROKEN}
    break_bodies(kinds)
    check_broken(kinds, Project.load(kinds).run(session=spark, select=[*BROKEN]), before)


def test_the_project_of_this_test_declares_one_of_each_kind() -> None:
    for word in ("@function(", "@aggregate(", "@window(", "@table_function("):
        assert word in FUNCTIONS
    assert READINGS.num_rows
