"""A stream returns each file once, in one order, wherever it stops and restarts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import (
    HeadraceError,
    InvalidArgumentError,
    LogGapError,
    SchemaChangedError,
    TableReplacedError,
    UnstreamableChangeError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from headrace.spark.pinned_table import pin_table
from headrace.spark.source_option import BatchLimits, parse_options
from headrace.spark.stream_offset import Offset, Part, parse_offset
from headrace.spark.stream_plan import StreamPlan
from tests.effort import examples
from tests.lake.action import Line, add, commit_info, metadata, opening, protocol, remove
from tests.lake.checkpoint import write_checkpoint
from tests.lake.clock import Clock
from tests.lake.log import commit_path, state_at, write_commit, write_history

ALL = BatchLimits(files=None)


def plan_of(table: Path, **options: Any) -> StreamPlan:
    texts = {name: str(value) for name, value in options.items()}
    parsed = parse_options({"path": str(table), **texts})
    return StreamPlan(pin_table(parsed), parsed)


def names(plan: StreamPlan, start: Offset, end: Offset) -> list[str]:
    uris = [uri for files in plan.files(start, end) for uri in files["uri"].to_pylist()]
    return [Path(uri).name for uri in uris]


def all_names(plan: StreamPlan, start: Offset | None = None) -> list[str]:
    start = start or plan.beginning()
    end = plan.advance(start, limits=ALL, last_version=plan.newest_version())
    return names(plan, start, end)


def moved(line: Line) -> Line:
    """Return the same action, in a commit that only moves rows."""
    [(name, action)] = line.items()
    return {name: action | {"dataChange": False}}


sizes = st.lists(st.lists(st.integers(1, 9), max_size=5), min_size=1, max_size=8)
limits = st.builds(
    BatchLimits,
    files=st.none() | st.integers(1, 4),
    size_bytes=st.none() | st.integers(1, 20),
    versions=st.none() | st.integers(1, 3),
)


@pytest.mark.property
@settings(max_examples=examples(60))
@given(
    before=sizes,
    after=sizes,
    limit=limits,
    first=st.sampled_from([None, 0, "latest"]),
    restarts=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_every_file_comes_once_and_in_order_whatever_the_limits_and_restarts(
    before: list[list[int]],
    after: list[list[int]],
    limit: BatchLimits,
    first: int | str | None,
    restarts: list[bool],
) -> None:
    history = [
        [add(f"f{version}-{i}", size=size) for i, size in enumerate(commit)]
        for version, commit in enumerate([*before, *after])
    ]
    history[0][:0] = opening()
    options = {} if first is None else {"startingVersion": first}
    with TemporaryDirectory() as folder:
        table = write_history(Path(folder), history[: len(before)])
        plan = plan_of(table, **options)
        offset = plan.beginning()
        given_names, batches = list[str](), 0
        to_come = list(enumerate(history))[len(before) :]
        while True:
            if restarts[batches % len(restarts)]:
                plan = plan_of(table, **options)
            end = plan.advance(offset, limits=limit, last_version=plan.newest_version())
            if end == offset and not to_come:
                break
            if to_come:  # the table grows between the two calls of a micro-batch
                write_commit(table, *to_come.pop(0))
            if restarts[(batches + 1) % len(restarts)]:
                plan = plan_of(table, **options)  # killed between the two calls of a micro-batch
            if not batches:
                offset = plan.beginning()  # Spark asks for it again, and does not store the answer
            some = names(plan, offset, end)
            assert limit.files is None or len(some) <= limit.files
            given_names += some
            offset, batches = parse_offset(end.as_dict()), batches + 1
        sized = {f"f{v}-{i}": s for v, c in enumerate([*before, *after]) for i, s in enumerate(c)}
        skipped = len(before) if first == "latest" else 0
        assert given_names == [name for name in sized if int(name[1:].split("-")[0]) >= skipped]


def test_a_byte_limit_ends_with_the_file_that_reaches_it(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), *(add(f"f{i}", size=10) for i in range(5))]])
    plan = plan_of(tmp_path, startingVersion=0)
    start = plan.beginning()
    end = plan.advance(start, limits=BatchLimits(size_bytes=15), last_version=0)
    assert names(plan, start, end) == ["f0", "f1"]


def test_a_version_limit_counts_commits(tmp_path: Path) -> None:
    write_history(tmp_path, [opening(), [add("a")], [add("b")], [add("c")]])
    plan = plan_of(tmp_path, startingVersion=0)
    end = plan.advance(plan.beginning(), limits=BatchLimits(versions=2), last_version=3)
    assert end.version == 2


def test_the_first_snapshot_keeps_its_order_when_a_checkpoint_is_written(tmp_path: Path) -> None:
    commits = [[add(f"f{i}", modified_ms=1000 - i)] for i in range(4)]
    history = [[*opening(), *commits[0]], *commits[1:]]
    write_history(tmp_path, history)
    before = all_names(plan_of(tmp_path))
    write_checkpoint(tmp_path, 2, state_at(history, 2))
    assert all_names(plan_of(tmp_path)) == before == ["f3", "f2", "f1", "f0"]


def test_a_compaction_of_the_table_repeats_no_rows(tmp_path: Path) -> None:
    moving = [moved(remove("a")), moved(remove("b")), moved(add("ab"))]
    write_history(tmp_path, [opening(), [add("a")], [add("b")], moving, [add("c")]])
    assert all_names(plan_of(tmp_path, startingVersion=0)) == ["a", "b", "c"]


DELETE: Sequence[Line] = [remove("a")]
UPDATE: Sequence[Line] = [remove("a"), add("a2")]


@pytest.mark.parametrize(
    ("lines", "option", "expected"),
    [
        (DELETE, "ignoreDeletes", ["a", "c"]),
        (DELETE, "ignoreChanges", ["a", "c"]),
        (DELETE, "skipChangeCommits", ["a", "c"]),
        (UPDATE, "ignoreChanges", ["a", "a2", "c"]),
        (UPDATE, "skipChangeCommits", ["a", "c"]),
        (DELETE, None, None),
        (UPDATE, None, None),
        (UPDATE, "ignoreDeletes", None),
    ],
)
def test_commits_that_remove_rows_are_refused_unless_allowed(
    lines: list[Line], option: str | None, expected: list[str] | None, tmp_path: Path
) -> None:
    write_history(tmp_path, [opening(), [add("a")], lines, [add("c")]])
    plan = plan_of(tmp_path, startingVersion=0, **({} if option is None else {option: "true"}))
    start = plan.beginning()
    if expected is not None:
        assert all_names(plan) == expected
        return
    # The changes before it are returned first.
    end = plan.advance(start, limits=ALL, last_version=3)
    assert names(plan, start, end) == ["a"]
    with pytest.raises(UnstreamableChangeError) as refused:
        plan.advance(end, limits=ALL, last_version=3)
    assert (refused.value.version, refused.value.path) == (2, "a")


WIDER = {"id": "long", "part": "string", "n": "integer", "more": "string"}
OTHER = {"id": "long", "part": "string", "n": "integer", "id2": "long"}
NARROW = {"part": "string", "n": "integer"}


def columns(names_and_types: dict[str, str], **changes: Any) -> Line:
    line = metadata(columns=names_and_types)
    return {"metaData": line["metaData"] | changes}


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (columns(WIDER), "column more is not in the stream's schema"),
        (columns(NARROW), "column id is gone"),
        (columns(WIDER | {"id": "string"}), "column id is string, not long"),
        (metadata(partition_columns=()), "partitioned by nothing"),
    ],
)
def test_another_schema_stops_a_running_stream(
    changed: Line, difference: str, tmp_path: Path
) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    plan = plan_of(tmp_path)
    offset = plan.advance(plan.beginning(), limits=ALL, last_version=0)
    write_commit(tmp_path, 1, [changed, add("b")])
    with pytest.raises(SchemaChangedError, match=difference) as refused:
        plan.advance(offset, limits=ALL, last_version=plan.newest_version())
    assert refused.value.version == 1


def test_metadata_changes_that_keep_the_columns_stop_nothing(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    plan = plan_of(tmp_path)
    offset = plan.advance(plan.beginning(), limits=ALL, last_version=0)
    write_commit(tmp_path, 1, [metadata(properties={"x": "y"}), commit_info(), add("b")])
    assert all_names(plan, offset) == ["b"]


def test_a_restarted_stream_continues_across_an_added_column(tmp_path: Path) -> None:
    history = [[*opening(), add("a")], [columns(WIDER), add("b")], [columns(WIDER | OTHER)]]
    write_history(tmp_path, [*history, [add("c")]])
    offset = plan_of(tmp_path, startingVersion=0).beginning()
    assert all_names(plan_of(tmp_path), offset) == ["a", "b", "c"]


def test_a_stream_does_not_restart_across_a_dropped_column(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")], [columns(NARROW), add("b")]])
    with pytest.raises(SchemaChangedError, match="column id is not in the stream's schema"):
        all_names(plan_of(tmp_path, startingVersion=0))


def test_an_offset_of_another_table_is_refused(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    plan = plan_of(tmp_path)
    with pytest.raises(TableReplacedError):
        plan.advance(Offset(table="another", version=0), limits=ALL, last_version=0)


def test_a_table_recreated_in_the_log_is_refused(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    plan = plan_of(tmp_path)
    offset = plan.advance(plan.beginning(), limits=ALL, last_version=0)
    write_commit(tmp_path, 1, [columns({"id": "long"}, id="another")])
    with pytest.raises(TableReplacedError):
        plan.advance(offset, limits=ALL, last_version=1)


def test_a_feature_that_is_not_implemented_stops_a_stream_at_its_commit(tmp_path: Path) -> None:
    needs = [protocol(features=("deletionVectors", "aNewOne")), add("b")]
    write_history(tmp_path, [[*opening(), add("a")], needs, [protocol(), add("c")]])
    plan = plan_of(tmp_path, startingVersion=0)
    end = plan.advance(plan.beginning(), limits=ALL, last_version=2)
    with pytest.raises(UnsupportedFeatureError, match="aNewOne"):
        plan.advance(end, limits=ALL, last_version=2)


def test_cleaned_up_commits_are_not_skipped(tmp_path: Path) -> None:
    history = [[*opening(), add("a")], [add("b")], [add("c")]]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 1, state_at(history, 1))
    commit_path(tmp_path, 0).unlink()
    with pytest.raises(LogGapError):
        all_names(plan_of(tmp_path, startingVersion=0))


@pytest.mark.parametrize(
    ("time", "version"),
    [
        ("2026-01-01T00:00:00Z", 0),  # before all commits
        ("2026-01-02T00:00:00Z", 1),  # exactly at a commit
        ("2026-01-02T00:00:00.001Z", 2),
        ("2026-01-03T12:00:00Z", 3),  # after all commits: only new ones
    ],
)
def test_a_time_starts_a_stream_with_the_first_commit_at_or_after_it(
    time: str, version: int, tmp_path: Path
) -> None:
    moments = [datetime(2026, 1, day, hour, tzinfo=UTC) for day, hour in ((1, 12), (2, 0), (3, 0))]
    Clock(modified_ms=[int(moment.timestamp() * 1000) for moment in moments]).write(tmp_path)
    start = plan_of(tmp_path, startingTimestamp=time).first_offset(newest=2)
    assert (start.version, start.part) == (version, Part.COMMITS)


def test_a_stream_does_not_start_in_the_far_future(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")]])
    assert plan_of(tmp_path, startingVersion=1).first_offset(newest=0).version == 1
    with pytest.raises(VersionNotFoundError):
        plan_of(tmp_path, startingVersion=2).first_offset(newest=0)


@pytest.mark.parametrize("written", [{}, {"version": 1}, {"table": "x", "version": 1, "format": 9}])
def test_an_offset_of_another_source_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="checkpoint"):
        parse_offset(written)


@pytest.mark.parametrize(
    "given_options",
    [
        {"path": "t", "wher": "x"},
        {},
        {"path": "t", "version": "-1"},
        {"path": "t", "version": "1", "timestampAsOf": "2026-01-01"},
        {"path": "t", "startingVersion": "newest"},
        {"path": "t", "startingVersion": "1", "startingTimestamp": "2026-01-01"},
        {"path": "t", "startingTimestamp": "yesterday"},
        {"path": "t", "maxFilesPerTrigger": "0"},
        {"path": "t", "maxBytesPerTrigger": "many"},
        {"path": "t", "ignoreDeletes": "perhaps"},
    ],
)
def test_a_wrong_option_is_refused(given_options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_options(given_options)


def test_options_are_case_insensitive_and_sizes_have_units() -> None:
    parsed = parse_options({"PATH": "t", "versionAsOf": "3", "MAXBYTESPERTRIGGER": "2m"})
    assert (parsed.version, parsed.stream.limits.size_bytes) == (3, 2 << 20)


def test_errors_of_a_stream_are_headrace_errors() -> None:
    error = SchemaChangedError(table="t", version=1, difference="x")
    assert isinstance(error, HeadraceError)
    assert error.code == "SCHEMA_CHANGED"
