"""Rule 17: which version a time selects."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import headrace
from headrace.errors import LogGapError, TimestampNotFoundError, VersionNotFoundError
from tests.lake.action import opening
from tests.lake.checkpoint import write_checkpoint
from tests.lake.clock import Clock
from tests.lake.log import commit_path, state_at


def _version(table: Path, ms: int) -> int:
    moment = datetime.fromtimestamp(ms / 1000, tz=UTC)
    return headrace.Table(str(table)).snapshot(as_of=moment).version


def _write(table: Path, *modified_ms: int) -> Path:
    return Clock(modified_ms=modified_ms).write(table)


@pytest.mark.parametrize(
    ("ms", "version"), [(1000, 0), (1999, 0), (2000, 1), (2500, 1), (3000, 2), (10**12, 2)]
)
def test_rule_17_a_time_means_the_last_commit_at_or_before_it(
    tmp_path: Path, ms: int, version: int
) -> None:
    assert _version(_write(tmp_path, 1000, 2000, 3000), ms) == version


def test_rule_17_a_time_before_the_first_commit_is_not_found(tmp_path: Path) -> None:
    _write(tmp_path, 1000, 2000)
    with pytest.raises(TimestampNotFoundError) as caught:
        _version(tmp_path, 999)
    assert (caught.value.timestamp_ms, caught.value.oldest_ms) == (999, 1000)


@pytest.mark.parametrize(("ms", "version"), [(1000, 0), (1001, 1), (1002, 2), (4000, 3), (4001, 4)])
def test_rule_17_each_commit_is_later_than_the_one_before(
    tmp_path: Path, ms: int, version: int
) -> None:
    assert _version(_write(tmp_path, 1000, 400, 400, 4000, 2000), ms) == version


def test_rule_17_a_snapshot_has_its_time(tmp_path: Path) -> None:
    table = headrace.Table(str(_write(tmp_path, 1000, 2000, 3000)))
    assert [table.snapshot(version=v).timestamp_ms for v in range(3)] == [1000, 2000, 3000]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1970-01-01T00:00:01Z", 0),
        ("1970-01-01T00:00:02+00:00", 1),
        ("1970-01-01T02:00:02+02:00", 1),
        ("1970-01-01T00:00:02.999Z", 1),
        ("1970-01-02T00:00:00Z", 2),
    ],
)
def test_rule_17_a_time_may_be_iso_text(tmp_path: Path, text: str, version: int) -> None:
    table = headrace.Table(str(_write(tmp_path, 1000, 2000, 3000)))
    assert table.snapshot(as_of=text).version == version


def test_rule_17_in_commit_timestamps_win_over_modification_times(tmp_path: Path) -> None:
    clock = Clock(modified_ms=[9000, 8000, 7000], in_commit_ms=[1000, 2000, 3000])
    clock.write(tmp_path)
    assert [_version(tmp_path, ms) for ms in (1000, 1999, 2000, 3500, 9500)] == [0, 0, 1, 2, 2]


def test_rule_17_a_snapshot_has_its_in_commit_time(tmp_path: Path) -> None:
    Clock(modified_ms=[9000, 8000], in_commit_ms=[1000, 2000]).write(tmp_path)
    table = headrace.Table(str(tmp_path))
    assert [table.snapshot(version=v).timestamp_ms for v in range(2)] == [1000, 2000]


@pytest.mark.parametrize(
    ("ms", "version"),
    [(100, 0), (299, 1), (4999, 1), (5000, 2), (5999, 2), (6000, 3), (10**6, 3)],
)
def test_rule_17_before_enablement_the_modification_time_counts(
    tmp_path: Path, ms: int, version: int
) -> None:
    Clock(modified_ms=[100, 200, 9000, 8000], in_commit_ms=[5000, 6000]).write(tmp_path)
    assert _version(tmp_path, ms) == version


def test_rule_17_enablement_time_separates_the_two_kinds(tmp_path: Path) -> None:
    """A file time after the enablement does not extend into the in-commit range."""
    Clock(modified_ms=[100, 5500, 1, 1], in_commit_ms=[5000, 6000]).write(tmp_path)
    assert [_version(tmp_path, ms) for ms in (4999, 5000, 5600, 6000)] == [0, 2, 2, 3]


_TIMES = [1000, 2000, 3000, 4000, 5000, 6000]


def _with_gap(table: Path, clock: Clock) -> Path:
    """Versions 0, 1, 4 and 5 can be reconstructed; 2 has lost its commit, and 3 its base."""
    clock.write(table)
    write_checkpoint(table, 4, state_at([opening()], 0))
    commit_path(table, 2).unlink()
    return table


@pytest.mark.parametrize("in_commit_ms", [[], _TIMES], ids=["file times", "own times"])
def test_rule_17_a_gap_does_not_hide_the_versions_below_it(
    tmp_path: Path, in_commit_ms: list[int]
) -> None:
    table = _with_gap(tmp_path, Clock(modified_ms=_TIMES, in_commit_ms=in_commit_ms))
    assert [_version(table, ms) for ms in (1000, 1500, 5000, 9000)] == [0, 0, 4, 5]


@pytest.mark.parametrize("in_commit_ms", [[], _TIMES], ids=["file times", "own times"])
@pytest.mark.parametrize("ms", [2000, 3000, 3999])
def test_rule_17_a_time_that_a_missing_commit_may_have_is_refused(
    tmp_path: Path, in_commit_ms: list[int], ms: int
) -> None:
    table = _with_gap(tmp_path, Clock(modified_ms=_TIMES, in_commit_ms=in_commit_ms))
    with pytest.raises(LogGapError) as caught:
        _version(table, ms)
    assert caught.value.missing == (range(2, 3),)


def test_rule_17_a_time_of_a_version_that_lost_its_base_is_refused(tmp_path: Path) -> None:
    table = _with_gap(tmp_path, Clock(modified_ms=_TIMES))
    with pytest.raises(VersionNotFoundError) as caught:
        _version(table, 4000)
    assert caught.value.available == (range(2), range(4, 6))
