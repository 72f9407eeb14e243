"""Rules 1 to 8 and 13: which files of a log make up a version."""

from pathlib import Path

import pytest

from headrace import Table
from headrace.errors import LogGapError, TableNotFoundError, VersionNotFoundError
from headrace.metrics.event import Event, HintIgnored
from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import (
    commit_path,
    log_of,
    state_at,
    write_commit,
    write_compaction,
    write_hint,
    write_history,
    write_lines,
)
from tests.listing import open_snapshot, paths_of

HISTORY: list[list[Line]] = [
    [*opening(), add("0")],
    [add("1")],
    [add("2"), remove("0")],
    [add("3")],
    [add("4"), remove("1")],
    [add("5")],
]
"""Each version adds a file named after its number; 2 removes 0, and 4 removes 1."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_history(tmp_path, HISTORY)


def _clean(table: Path, *versions: int) -> None:
    for version in versions:
        commit_path(table, version).unlink()


def _checkpoint(table: Path, version: int, form: Form = Form.CLASSIC) -> list[Path]:
    return write_checkpoint(table, version, state_at(HISTORY, version), Shape(form=form))


def test_rule_01_a_gap_names_the_missing_versions(table: Path) -> None:
    _clean(table, 2, 3)
    with pytest.raises(LogGapError) as caught:
        open_snapshot(table)
    assert caught.value.missing == (range(2, 4),)


def test_rule_01_a_gap_names_the_versions_that_can_be_read(table: Path) -> None:
    _checkpoint(table, 1)
    _clean(table, 0, 3)
    with pytest.raises(LogGapError, match="that can be read: 1 to 2") as caught:
        open_snapshot(table)
    assert caught.value.available == (range(1, 3),)
    assert [open_snapshot(table, version).version for version in (1, 2)] == [1, 2]


def test_rule_01_a_gap_that_leaves_nothing_names_no_version(table: Path) -> None:
    _clean(table, 0)
    with pytest.raises(LogGapError, match=r"restore the files$"):
        open_snapshot(table)


def test_rule_01_a_gap_after_a_checkpoint_is_refused(table: Path) -> None:
    _checkpoint(table, 2)
    _clean(table, 4)
    with pytest.raises(LogGapError) as caught:
        open_snapshot(table)
    assert caught.value.missing == (range(4, 5),)


def test_rule_01_a_gap_right_after_a_checkpoint_is_refused(table: Path) -> None:
    _checkpoint(table, 2)
    write_hint(table, 2)
    _clean(table, 0, 1, 2, 3)
    with pytest.raises(LogGapError) as caught:
        open_snapshot(table)
    assert caught.value.missing == (range(3, 4),)


def test_rule_01_a_gap_above_the_requested_version_does_not_matter(table: Path) -> None:
    _clean(table, 4)
    assert paths_of(table, 3) == ["1", "2", "3"]


def test_rule_01_a_gap_that_a_checkpoint_covers_does_not_matter(table: Path) -> None:
    _checkpoint(table, 4)
    _clean(table, 2)
    assert paths_of(table) == ["2", "3", "4", "5"]


@pytest.mark.timeout(10)
def test_rule_01_a_gap_of_any_width_is_reported_at_once(table: Path) -> None:
    last = (1 << 63) - 1
    commit_path(table, last).touch()
    with pytest.raises(LogGapError, match=f"commits 6-{last - 1} are missing") as caught:
        open_snapshot(table)
    assert caught.value.missing == (range(6, last),)


def test_rule_02_log_starting_at_41_without_checkpoint_is_refused(tmp_path: Path) -> None:
    for version, lines in enumerate(HISTORY, start=41):
        write_commit(tmp_path, version, lines)
    with pytest.raises(LogGapError) as caught:
        open_snapshot(tmp_path)
    assert caught.value.missing == (range(41),)


def test_rule_02_after_a_checkpoint_the_log_continues_with_the_next_version(table: Path) -> None:
    _checkpoint(table, 2)
    _clean(table, 0, 1, 2)
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_02_an_empty_log_is_no_table(tmp_path: Path) -> None:
    log_of(tmp_path)
    with pytest.raises(TableNotFoundError):
        open_snapshot(tmp_path)


def test_rule_03_unknown_file_names_are_ignored(table: Path) -> None:
    log = log_of(table)
    for name in [
        "_SUCCESS",
        "6.json",
        "00000000000000000006.json.tmp",
        "._00000000000000000006.json",
        ".00000000000000000006.json.crc",
        "00000000000000000006.checkpoint.0000000001.parquet",
        "00000000000000000006.00000000000000000007.json",
    ]:
        (log / name).write_bytes(b"neither JSON nor Parquet")
    (log / "00000000000000000006").mkdir()
    assert open_snapshot(table).version == 5


def test_rule_04_a_missing_hint_only_costs_a_listing(table: Path) -> None:
    _checkpoint(table, 2)
    _clean(table, 0, 1, 2)
    assert open_snapshot(table).version == 5


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"version": "two"}', b"[]", b"\xff\xfe", b'{"version": -1}', b'{"size": 3}'],
)
def test_rule_04_a_corrupt_hint_is_ignored(table: Path, content: bytes) -> None:
    _checkpoint(table, 2)
    (log_of(table) / "_last_checkpoint").write_bytes(content)
    assert paths_of(table) == ["2", "3", "4", "5"]


@pytest.mark.parametrize("version", [1, 3, 5, 6, 99])
def test_rule_04_a_hint_to_a_missing_checkpoint_is_ignored(table: Path, version: int) -> None:
    _checkpoint(table, 2)
    _clean(table, 0, 1, 2)
    write_hint(table, version)
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_04_a_hint_to_a_missing_checkpoint_is_reported(table: Path) -> None:
    write_hint(table, 3)
    events: list[Event] = []
    assert Table(table, reporter=events.append).snapshot().version == 5
    reason = "version 3, which it names, has no complete checkpoint"
    assert events == [HintIgnored(table=str(table), reason=reason)]


def test_rule_04_a_newer_checkpoint_than_the_hint_names_is_used(table: Path) -> None:
    _checkpoint(table, 1)
    _checkpoint(table, 4)
    write_hint(table, 1)
    _clean(table, 2)
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_05_what_the_hint_embeds_counts_only_for_its_own_checkpoint(table: Path) -> None:
    shape = Shape(form=Form.V2_PARQUET, sidecars=2)
    first = write_checkpoint(table, 1, state_at(HISTORY, 1), shape)
    write_checkpoint(table, 4, state_at(HISTORY, 4), shape)
    sidecars = [{"path": path.name, "sizeInBytes": 1, "modificationTime": 1} for path in first[1:]]
    embedded = {"path": first[0].name, "sidecarFiles": sidecars, "nonFileActions": []}
    write_hint(table, 1, v2Checkpoint=embedded, checkpointSchema={"type": "struct", "fields": []})
    assert paths_of(table) == ["2", "3", "4", "5"]


@pytest.mark.parametrize(("version", "expected"), [(2, ["1", "2"]), (3, ["1", "2", "3"])])
def test_rule_06_time_travel_builds_on_the_checkpoint_at_or_below(
    table: Path, version: int, expected: list[str]
) -> None:
    for checkpoint in (2, 4):
        _checkpoint(table, checkpoint)
    write_hint(table, 4)
    _clean(table, 0, 1, 2)
    assert paths_of(table, version) == expected


@pytest.mark.parametrize("version", [6, 7, 99])
def test_rule_06_a_version_newer_than_the_log_is_not_found(table: Path, version: int) -> None:
    with pytest.raises(VersionNotFoundError) as caught:
        open_snapshot(table, version)
    assert (caught.value.available, caught.value.newest) == ((range(6),), 5)


def test_rule_06_a_version_that_can_no_longer_be_rebuilt_is_not_found(table: Path) -> None:
    _checkpoint(table, 2)
    _clean(table, 0, 2)
    with pytest.raises(VersionNotFoundError) as caught:
        open_snapshot(table, 1)
    assert (caught.value.available, caught.value.newest) == ((range(2, 6),), 5)


def test_rule_06_every_version_that_can_be_rebuilt_is_named(table: Path) -> None:
    _checkpoint(table, 3)
    _clean(table, 1, 3, 4)
    with pytest.raises(VersionNotFoundError, match=r"ask for one of 0, 3$") as caught:
        open_snapshot(table, 2)
    assert caught.value.available == (range(1), range(3, 4))
    for version in (0, 3):
        assert open_snapshot(table, version).version == version


def test_rule_08_checkpoints_of_one_version_give_one_answer(table: Path) -> None:
    for form in Form:
        _checkpoint(table, 4, form)
    chosen = {open_snapshot(table).segment.checkpoint for _ in range(3)}
    assert len(chosen) == 1
    assert paths_of(table) == ["2", "3", "4", "5"]


def _poison(table: Path, first: int, last: int) -> None:
    """Write a compaction that differs from its commits, so that its use is visible."""
    name = f"{first:020}.{last:020}.compacted.json"
    write_lines(log_of(table) / name, [add("poison")])


def test_rule_13_a_compaction_stands_for_its_commits(table: Path) -> None:
    write_compaction(table, 1, 4, HISTORY)
    commit_path(table, 2).write_bytes(b"not read, because the compaction replaces it")
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_13_a_compaction_that_reaches_below_the_checkpoint_is_not_used(table: Path) -> None:
    _checkpoint(table, 2)
    _poison(table, 2, 4)
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_13_a_compaction_that_reaches_above_the_target_is_not_used(table: Path) -> None:
    _poison(table, 1, 4)
    assert paths_of(table, 3) == ["1", "2", "3"]


def test_rule_13_of_two_compactions_the_wider_one_wins(table: Path) -> None:
    write_compaction(table, 1, 4, HISTORY)
    _poison(table, 3, 4)
    assert paths_of(table) == ["2", "3", "4", "5"]


def test_rule_13_a_corrupt_compaction_is_ignored(table: Path) -> None:
    path = write_compaction(table, 1, 4, HISTORY)
    path.write_bytes(path.read_bytes()[:-9])
    assert paths_of(table) == ["2", "3", "4", "5"]
