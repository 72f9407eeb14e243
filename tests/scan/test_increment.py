"""An older file list plus the commits since then equals a new scan."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from headrace import Table, wiring
from headrace.errors import IncrementRefusedError, InvalidArgumentError, SnapshotExpiredError
from headrace.metrics.event import Event, LogReplayCompleted
from headrace.scan.options import Strategy
from tests.effort import examples
from tests.lake.action import add, opening, remove
from tests.lake.checkpoint import CLASSIC, Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import WELL_FORMED, plans
from tests.listing import COLUMNS
from tests.scan.counting import CountingLocalStore, counting_executor

HISTORY = [[*opening(), add("a"), add("b")], [remove("a")], [add("c"), add("b")]]


def rows(batches: "list[pa.RecordBatch]") -> list[str]:
    """Return the rows without the columns that commits have and a newer checkpoint may lack."""
    listed = [row for b in batches for row in b.to_pylist(maps_as_pydicts="strict")]
    known = [name for name in COLUMNS if name not in {"version", "stats", "tags"}]
    return sorted(repr({name: row[name] for name in known}) for row in listed)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_history(tmp_path, HISTORY)


def test_only_the_commits_in_between_are_read(table: Path) -> None:
    executor, opened = counting_executor(table)
    source = Table(table, executor=executor)
    old = list(source.snapshot(version=1).scan().batches())
    new = source.snapshot()
    source.clear_cache()
    opened.clear()
    listed = list(new.scan().since(old, version=1))
    assert {Path(path).name for path in opened} == {f"{2:020}.json"}
    assert rows(listed) == rows(list(new.scan().batches()))


def test_the_same_version_is_the_same_list(table: Path) -> None:
    snapshot = Table(table).snapshot()
    old = list(snapshot.scan().batches())
    assert rows(list(snapshot.scan().since(old, version=2))) == rows(old)


@pytest.mark.parametrize("text", [pa.large_string(), pa.string_view()])
def test_an_older_list_may_have_paths_of_another_string_type(
    table: Path, text: pa.DataType
) -> None:
    new = Table(table).snapshot()
    [*old] = Table(table).snapshot(version=1).scan().batches()
    schema = old[0].schema
    place = schema.get_field_index("path")
    other = schema.set(place, schema.field("path").with_type(text))
    listed = list(new.scan().since([batch.cast(other) for batch in old], version=1))
    assert rows(listed) == rows(list(new.scan().batches()))


def test_another_condition_is_refused(table: Path) -> None:
    with pytest.raises(IncrementRefusedError, match="listed with"):
        Table(table).snapshot().scan(where="id = 1").since([], version=1)


def test_a_newer_list_is_refused(table: Path) -> None:
    with pytest.raises(IncrementRefusedError, match="not older"):
        Table(table).snapshot(version=1).scan().since([], version=2)


@pytest.fixture
def summed_up(table: Path) -> Path:
    """The same table with a checkpoint, so that a snapshot does not need the older commits."""
    write_checkpoint(table, 2, state_at(HISTORY, 2), Shape(form=Form.CLASSIC))
    return table


def test_a_commit_that_is_gone_is_refused(summed_up: Path) -> None:
    snapshot = Table(summed_up).snapshot()
    commit_path(summed_up, 1).unlink()
    with pytest.raises(IncrementRefusedError, match="commit 1"):
        list(snapshot.scan().since([], version=0))


def test_a_commit_deleted_before_it_is_read_expires_the_snapshot(table: Path) -> None:
    snapshot = Table(table).snapshot()
    commit_path(table, 1).unlink()
    with pytest.raises(SnapshotExpiredError):
        list(snapshot.scan().since([], version=0))


def test_a_recreated_table_is_refused(summed_up: Path) -> None:
    source = Table(summed_up)
    old = list(source.snapshot(version=0).scan().batches())
    snapshot = source.snapshot()
    write_history(summed_up, [[*opening(), add("x")], [add("y")], [add("z", size=1000)]])
    with pytest.raises(IncrementRefusedError, match="commit 2 was rewritten"):
        list(snapshot.scan().since(old, version=0))


def test_commits_that_a_snapshot_knows_are_not_listed_again(table: Path) -> None:
    store = CountingLocalStore(table)
    snapshot = Table(table, executor=wiring.open_executor(store)).snapshot()
    store.listings = 0
    list(snapshot.scan().since([], version=0))
    assert store.listings == 0


def test_changed_metadata_is_refused(tmp_path: Path) -> None:
    table = write_history(tmp_path, [[*opening(), add("a")], opening()[1:]])
    with pytest.raises(IncrementRefusedError, match="metaData"):
        list(Table(table).snapshot().scan().since([], version=0))


def test_a_list_without_all_columns_is_refused(table: Path) -> None:
    snapshot = Table(table).snapshot()
    old = list(snapshot.scan().batches(columns=["path"]))
    with pytest.raises(InvalidArgumentError, match="columns"):
        list(snapshot.scan().since(old, version=2))
    with pytest.raises(InvalidArgumentError, match="limit"):
        snapshot.scan(limit=1).since(old, version=2)


@pytest.mark.property
@given(plans(oddities=WELL_FORMED))
@settings(max_examples=examples(60))
def test_any_history_can_be_brought_up_to_date_or_is_refused(plan: Plan) -> None:
    with plan.on_disk() as table:
        source = Table(table)
        newest = source.snapshot()
        for version in plan.readable:
            old = list(source.snapshot(version=version).scan().batches())
            try:
                listed = list(newest.scan().since(old, version=version))
            except IncrementRefusedError:
                continue
            assert rows(listed) == rows(list(newest.scan().batches()))


def test_the_files_of_an_increment_are_counted_and_reported(table: Path) -> None:
    events: list[Event] = []
    source = Table(table, reporter=events.append)
    old = list(source.snapshot(version=1).scan().batches())
    scan = source.snapshot().scan()
    events.clear()
    assert sum(batch.num_rows for batch in scan.since(old, version=1)) == 2
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (event.counts.adds_emitted, scan.metrics.counts.adds_emitted) == (2, 2)
    assert event.time_to_first_file_ns is not None


@pytest.mark.parametrize("base", [None, 0, 2])
def test_an_increment_reports_the_commits_it_reads(tmp_path: Path, base: int | None) -> None:
    history = [[*opening(), add("a"), add("b")], [remove("a")], [add("c"), add("b")]]
    table = write_history(tmp_path, history)
    if base is not None:
        write_checkpoint(table, base, state_at(history, base), CLASSIC)
    source = Table(table)
    old = list(source.snapshot(version=1).scan().batches())
    scan = source.snapshot().scan(strategy="forward")
    list(scan.since(old, version=1))
    decision = scan.metrics.decision
    assert (decision.strategy, decision.rule) == (Strategy.REVERSE, "increment")
    assert (decision.commit_files, decision.checkpoint_files) == (1, 0)
    known = 0 if base == 2 else commit_path(table, 2).stat().st_size
    assert (decision.commit_bytes, decision.checkpoint_bytes) == (known, 0)


def test_an_increment_can_be_iterated_in_asyncio(table: Path) -> None:
    source = Table(table)
    old = list(source.snapshot(version=1).scan().batches())

    async def count() -> int:
        scan = source.snapshot().scan()
        return sum([batch.num_rows async for batch in scan.since(old, version=1)])

    assert asyncio.run(count()) == 2


@pytest.mark.parametrize("form", [pa.Table.from_batches, lambda batches: batches[0], iter])
def test_an_older_list_may_be_a_table_or_a_batch(table: Path, form: Any) -> None:
    source = Table(table)
    old = list(source.snapshot(version=0).scan().batches())
    scan = source.snapshot().scan()
    version: Any = np.int64(0)
    assert rows(list(scan.since(form(old), version=version))) == rows(list(scan.batches()))


@pytest.mark.parametrize(
    "wrong",
    [5, None, [5], "text", {"path": ["a"]}, [pa.nulls(3)], pa.table({"path": ["a"]})],
    ids=lambda wrong: type(wrong).__name__,
)
def test_an_invalid_list_of_files_is_refused(table: Path, wrong: Any) -> None:
    scan = Table(table).snapshot().scan()
    with pytest.raises(InvalidArgumentError, match="previous"):
        list(scan.since(wrong, version=2))


@pytest.mark.parametrize("other", [["x"], [[1]], [None]], ids=str)
def test_a_list_of_other_types_is_refused(table: Path, other: list[Any]) -> None:
    scan = Table(table).snapshot().scan()
    old = pa.Table.from_batches(list(scan.batches())).slice(0, 1)
    place = old.schema.get_field_index("size_bytes")
    with pytest.raises(InvalidArgumentError, match="types"):
        list(scan.since(old.set_column(place, "size_bytes", [other]), version=2))


@pytest.mark.parametrize("version", ["1", 1.0, None, True])
def test_a_version_is_a_whole_number(table: Path, version: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="version"):
        Table(table).snapshot().scan().since([], version=version)


@pytest.mark.parametrize(
    ("options", "version", "message"),
    [
        ({}, 0, "version is 1, not 0"),
        ({"where": "id = 1"}, 1, "where is 'id = 1', not None"),
        ({"limit": 1}, 1, "limit is 1, not None"),
    ],
)
def test_a_list_that_contradicts_its_label_is_refused(
    table: Path, options: dict[str, Any], version: int, message: str
) -> None:
    source = Table(table)
    old = list(source.snapshot(version=1).scan(**options).batches())
    with pytest.raises(IncrementRefusedError, match=message):
        list(source.snapshot().scan().since(old, version=version))


def test_the_list_of_another_table_is_refused(table: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(table / "_delta_log", elsewhere / "_delta_log")
    old = list(Table(elsewhere).snapshot(version=1).scan().batches())
    with pytest.raises(IncrementRefusedError, match="root is"):
        list(Table(table).snapshot().scan().since(old, version=1))


def test_a_list_keeps_its_label_in_a_file(table: Path, tmp_path: Path) -> None:
    scan = Table(table).snapshot(version=1).scan(where="id = 1")
    file = tmp_path / "files.parquet"
    pq.write_table(pa.Table.from_batches(scan.batches(), schema=scan.arrow_schema()), file)
    with pytest.raises(IncrementRefusedError, match="where is 'id = 1'"):
        list(Table(table).snapshot().scan().since(pq.read_table(file), version=1))


def test_a_list_without_a_label_is_taken_as_the_caller_describes_it(table: Path) -> None:
    source = Table(table)
    old = [batch.replace_schema_metadata() for batch in source.snapshot(version=1).scan().batches()]
    scan = source.snapshot().scan()
    assert rows(list(scan.since(old, version=1))) == rows(list(scan.batches()))


def test_a_label_that_cannot_be_read_is_refused(table: Path) -> None:
    scan = Table(table).snapshot().scan()
    odd = [batch.replace_schema_metadata({"headrace.files": "{"}) for batch in scan.batches()]
    with pytest.raises(InvalidArgumentError, match="label"):
        list(scan.since(odd, version=2))


def test_a_list_can_be_brought_up_to_date_repeatedly(table: Path) -> None:
    source = Table(table)
    first = list(source.snapshot(version=0).scan().batches())
    second = list(source.snapshot(version=1).scan().since(first, version=0))
    scan = source.snapshot().scan()
    assert rows(list(scan.since(second, version=1))) == rows(list(scan.batches()))
