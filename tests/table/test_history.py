"""History, ranges of versions or times, and following new commits."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from headrace import Table
from headrace.errors import (
    InvalidArgumentError,
    TableReplacedError,
    TimestampNotFoundError,
)
from tests.lake.action import add, commit_info, opening
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import commit_path, state_at, write_commit, write_history


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """One commit per day: 1, 2, 3 and 4 March, each at noon."""
    for version in range(4):
        noon = datetime(2026, 3, 1 + version, 12, tzinfo=UTC)
        lines = [*(opening() if version == 0 else []), add(f"{version}"), commit_info()]
        write_commit(tmp_path, version, lines, modified_ms=int(noon.timestamp() * 1000))
    return tmp_path


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-03-02", None, [1, 2, 3]),
        ("2026-03-02T12:00:00Z", None, [1, 2, 3]),
        ("2026-03-02T12:00:00.001Z", None, [2, 3]),
        ("2020-01-01", "2026-03-02T12:00:00Z", [0, 1]),
        (datetime(2026, 3, 4, 12, tzinfo=UTC), None, [3]),
        (datetime(2026, 3, 5, tzinfo=UTC).date(), None, []),
        ("2026-03-02T13:00Z", "2026-03-03T11:00Z", []),
        (1, "2026-03-03T12:00Z", [1, 2]),
        ("2026-03-03", 3, [2, 3]),
        ("yesterday", None, []),
    ],
    ids=str,
)
def test_a_range_consists_of_versions_or_times(
    dated: Path, start: Any, end: Any, expected: list[int]
) -> None:
    assert [change.version for change in Table(dated).changes(start, end)] == expected


def test_times_whose_commits_may_have_been_cleaned_up_are_refused(dated: Path) -> None:
    history = [[*opening()] if v == 0 else [add(f"{v}")] for v in range(3)]
    write_checkpoint(dated, 2, state_at(history, 2))
    for version in (0, 1):
        commit_path(dated, version).unlink()
    table = Table(dated)
    assert [change.version for change in table.changes("2026-03-04")] == [3]
    with pytest.raises(TimestampNotFoundError):
        table.changes("2026-03-03")  # the previous commit may have been made on that day, too


@pytest.mark.parametrize("wrong", [-1, 1.5, "soon", None, True])
def test_a_bound_that_is_neither_a_version_nor_a_time_is_refused(dated: Path, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="start"):
        Table(dated).changes(wrong)


def test_history_accepts_any_commit_info(tmp_path: Path) -> None:
    odd: dict[str, Any] = {
        "operation": 7,
        "operationMetrics": {"numFiles": "12", "rate": "0.5", "text": "\uff11"},
        "operationParameters": [1],
        "isBlindAppend": "yes",
        "readVersion": "3",
        "userName": None,
    }
    write_history(tmp_path, [[*opening()], [{"commitInfo": odd}], [add("a")]])
    newest, second, first = Table(tmp_path).history()
    assert (newest.operation, newest.metrics) == (None, {})
    assert second.operation == "7"
    assert second.metrics == {"numFiles": 12, "rate": "0.5", "text": "\uff11"}
    assert (second.parameters, second.is_blind_append, second.read_version) == ({}, None, None)
    assert first.version == 0


def test_the_time_of_an_entry_is_the_one_used_for_time_travel(dated: Path) -> None:
    early = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    write_commit(dated, 2, [add("2"), commit_info()], modified_ms=int(early * 1000))
    table = Table(dated)
    for entry in table.history():
        assert table.snapshot(as_of=entry.time).version == entry.version


def test_the_user_name_of_a_commit_is_kept(tmp_path: Path) -> None:
    write_deltalake(
        tmp_path,
        pa.table({"id": [1]}),
        commit_properties=CommitProperties(custom_metadata={"userName": "ada"}),
    )
    assert Table(tmp_path).history(1)[0].user_name == "ada"


def test_new_commits_are_followed(dated: Path) -> None:
    table = Table(dated)
    following = table.follow("2026-03-04", poll_s=0.01)
    assert [change.path for change in next(following)] == ["3"]
    write_commit(dated, 4, [add("4")])
    write_commit(dated, 5, [add("5")])
    assert [change.path for change in next(following)] == ["4", "5"]
    following.close()


def test_following_begins_with_the_next_commit(dated: Path) -> None:
    following = Table(dated).follow(poll_s=0)
    staged = write_commit(dated / "staged", 4, [add("4")])  # a commit appears atomically
    waiting = threading.Timer(0.3, lambda: staged.rename(commit_path(dated, 4)))
    waiting.start()
    assert [change.path for change in next(following)] == ["4"]


def test_a_replaced_table_is_not_followed(dated: Path) -> None:
    following = Table(dated).follow(3, poll_s=0.01)
    next(following)
    lines = opening()
    lines[1]["metaData"]["id"] = "another"
    for version in range(5):
        write_commit(dated, version, [*lines, add("x")] if version == 0 else [add(f"x{version}")])
    with pytest.raises(TableReplacedError):
        next(following)


@pytest.mark.parametrize("wrong", [-1, "1", None, float("nan"), float("inf"), True])
def test_an_invalid_wait_is_refused(dated: Path, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="poll_s"):
        next(Table(dated).follow(poll_s=wrong))


def test_a_time_outside_the_calendar_is_null(tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    write_history(tmp_path, [[*opening(**properties), commit_info(timestamp_ms=1 << 60)]])
    (entry,) = Table(tmp_path).history()
    assert (entry.timestamp_ms, entry.time) == (1 << 60, None)
