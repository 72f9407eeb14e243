"""The rules of `auto`, one by one; and every strategy returns the same files."""

from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import FallbackForbiddenError, InvalidArgumentError
from headrace.metrics.event import CompactionAbandoned, Event, FellBack
from headrace.scan import strategy
from headrace.scan.options import ScanOptions, Strategy, Tripwire
from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_compaction, write_history, write_lines

HISTORY: list[list[Line]] = [
    [*opening(), add("a"), add("b")],
    [add("c"), remove("a")],
    [add("d"), add("b")],
]
SHAPES = [Shape(form=form) for form in Form] + [Shape(form=Form.V2_PARQUET, sidecars=2)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_history(tmp_path, HISTORY)
    write_checkpoint(tmp_path, 1, state_at(HISTORY, 1), Shape(form=Form.CLASSIC))
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "strategy", "options"),
    [
        ("asked", Strategy.FORWARD, {"strategy": "forward"}),
        ("asked", Strategy.REVERSE, {"strategy": Strategy.REVERSE}),
        ("limit", Strategy.REVERSE, {"limit": 1}),
        ("predicate", Strategy.REVERSE, {"where": "id = 1"}),
        ("whole-table", Strategy.REVERSE, {}),
    ],
)
def test_a_rule_chooses_the_strategy(
    table: Path, rule: str, strategy: Strategy, options: dict[str, object]
) -> None:
    decision = Table(table).snapshot().scan(**options).decision  # type: ignore[arg-type]
    assert (decision.rule, decision.strategy) == (rule, strategy)
    assert decision.commit_files == 1
    assert decision.checkpoint_bytes > 0


@pytest.mark.parametrize(
    ("options", "files", "opened"),
    [({}, 2, 2), ({"strategy": "forward"}, 2, 4), ({"tripwire": "strict"}, 4, 5)],
)
def test_the_decision_announces_the_files_that_are_read(
    table: Path, options: dict[str, Any], files: int, opened: int
) -> None:
    history = [*HISTORY, [add("e")], [add("f")]]
    write_history(table, history)
    write_compaction(table, 2, 3, history)
    scan = Table(table).snapshot().scan(**options)
    list(scan)
    assert (scan.decision.commit_files, scan.metrics.counts.commits_scanned) == (files, opened)


def test_forward_reads_commits_where_a_compaction_is_damaged(table: Path) -> None:
    history = [*HISTORY, [add("e")]]
    write_history(table, history)
    write_lines(write_compaction(table, 2, 3, history), [add("d"), add("d")])
    events: list[Event] = []
    scan = Table(table, reporter=events.append).snapshot().scan(strategy="forward")
    assert [file.path for file in scan] == ["c", "e", "d", "b"]
    assert [type(event) for event in events[:1]] == [CompactionAbandoned]


def test_without_a_checkpoint_the_newest_come_first(tmp_path: Path) -> None:
    write_history(tmp_path, HISTORY)
    assert Table(tmp_path).snapshot().scan().decision.rule == "no-checkpoint"


def test_without_commits_only_the_checkpoint_is_read(table: Path) -> None:
    decision = Table(table).snapshot(version=1).scan().decision
    assert (decision.rule, decision.strategy) == ("no-commits", Strategy.FORWARD)


def test_the_decision_is_explained(table: Path) -> None:
    explained = Table(table).snapshot().scan(strategy="forward").explain()
    assert "strategy: forward by rule asked" in explained
    assert "KeyCollection" in explained


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_strategy_returns_the_same_files(tmp_path: Path, shape: Shape) -> None:
    write_history(tmp_path, HISTORY)
    write_checkpoint(tmp_path, 1, state_at(HISTORY, 1), shape)
    snapshot = Table(tmp_path).snapshot()
    listed = {
        strategy: sorted(f.path for f in snapshot.scan(strategy=strategy)) for strategy in Strategy
    }
    assert set(map(tuple, listed.values())) == {("b", "c", "d")}


def test_forward_returns_the_checkpoint_first(table: Path) -> None:
    assert next(iter(Table(table).snapshot().scan(strategy="forward"))).path == "c"
    assert [f.path for f in Table(table).snapshot().scan(strategy="reverse")][-1] == "c"


def test_forward_survives_a_damaged_checkpoint(table: Path) -> None:
    snapshot = Table(table).snapshot()
    checkpoint = table / "_delta_log" / f"{1:020}.checkpoint.parquet"
    checkpoint.write_bytes(b"\0" * checkpoint.stat().st_size)
    scan = snapshot.scan(strategy="forward")
    assert sorted(f.path for f in scan) == ["b", "c", "d"]
    assert scan.metrics.counts.fallbacks == 1


def test_the_strict_tripwire_falls_back_before_the_first_file(tmp_path: Path) -> None:
    write_history(tmp_path, [*HISTORY, [add("e"), {"txn": {"appId": "x", "version": 1}}]])
    write_checkpoint(tmp_path, 1, state_at(HISTORY, 1), Shape(form=Form.CLASSIC))
    events: list[Event] = []
    scan = Table(tmp_path).snapshot().scan(tripwire="strict", reporter=events.append)
    assert next(f.path for f in list(scan)) == "c"
    assert [type(event) for event in events if isinstance(event, FellBack)] == [FellBack]
    assert scan.metrics.counts.fallbacks == 1
    shown = scan.metrics.as_dict()
    assert (shown["strategy"], shown["rule"]) == ("forward", "tripwire")
    assert events[-1].strategy == "forward"  # type: ignore[union-attr]


def test_the_strict_tripwire_accepts_plain_commits(table: Path) -> None:
    scan = Table(table).snapshot().scan(tripwire=Tripwire.STRICT)
    assert next(f.path for f in list(scan)) == "d"
    assert scan.metrics.counts.fallbacks == 0


def test_a_forbidden_fallback_fails_before_the_first_file(tmp_path: Path) -> None:
    write_history(tmp_path, [*HISTORY, [add("e"), {"txn": {"appId": "x", "version": 1}}]])
    scan = Table(tmp_path).snapshot().scan(tripwire="strict", fallback="forbidden")
    with pytest.raises(FallbackForbiddenError, match="txn"):
        next(iter(scan))


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "sideways"},
        {"batch_rows": 0},
        {"batch_rows": "5"},
        {"batch_rows": True},
        {"batch_rows": 1 << 31},
        {"limit": 1 << 63},
        {"limit": 1.5},
        {"nonsense": 1},
        {"memory_limit_bytes": -1},
    ],
    ids=str,
)
def test_an_unknown_option_is_refused(table: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        Table(table).snapshot().scan(**wrong)  # type: ignore[arg-type]


def test_options_can_be_given_as_one_value(table: Path) -> None:
    options = ScanOptions(strategy=Strategy.FORWARD, leaf_parallelism=1)
    scan = Table(table).snapshot().scan(options=options, batch_rows=1)
    assert (scan.options.strategy, scan.options.batch_rows) == (Strategy.FORWARD, 1)


def test_a_limit_opens_no_commit_beyond_the_one_that_satisfies_it(tmp_path: Path) -> None:
    write_history(tmp_path, HISTORY)
    snapshot = Table(tmp_path).snapshot()
    commit_path(tmp_path, 0).write_text("never read")
    assert [f.path for f in snapshot.scan(limit=2)] == ["d", "b"]


def test_the_decision_of_a_scan_keeps_its_former_name() -> None:
    with pytest.warns(DeprecationWarning, match="ScanDecision"):
        assert strategy.Decision is strategy.ScanDecision
    with pytest.raises(AttributeError, match="no attribute"):
        _ = strategy.Absent
