"""A file list that was read to its end is served from memory to the next equal scan."""

import os
import pickle
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings

from headrace import Scan, Table, wiring
from headrace.errors import FallbackForbiddenError, InvalidArgumentError
from headrace.metrics.event import Event, LogReplayCompleted, ReplayPhase
from tests.effort import examples
from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import CLASSIC, write_checkpoint
from tests.lake.log import commit_path, log_of, state_at, write_commit, write_history
from tests.lake.plan import Plan
from tests.lake.strategies import WELL_FORMED, plans
from tests.scan.counting import CountingLocalStore, counting_executor

HISTORY: list[list[Line]] = [
    [*opening(), *(add(f"f{i}", partition_values={"part": "x", "n": "1"}) for i in range(6))],
    [remove("f0"), add("g")],
    [add("f1"), add("h")],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_history(tmp_path, HISTORY)
    write_checkpoint(tmp_path, 0, state_at(HISTORY, 0), CLASSIC)
    return tmp_path


def hits(scan: Scan, **how: object) -> int:
    """Read all batches, and return how often a cached file list was used."""
    list(scan.batches(**how))  # type: ignore[arg-type]
    return scan.metrics.counts.listing_cache_hits


def paths(scan: Scan) -> list[str]:
    return sorted(path for batch in scan.batches() for path in batch.column("path").to_pylist())


def test_the_second_time_nothing_is_read(folder: Path) -> None:
    executor, opened = counting_executor(folder)
    table = Table(folder, executor=executor)
    snapshot = table.snapshot()
    first = list(snapshot.scan().batches())
    opened.clear()
    scan = snapshot.scan()
    assert list(scan.batches()) == first
    assert opened == []
    counts = scan.metrics.counts
    assert (counts.listing_cache_hits, counts.bytes_read, counts.adds_emitted) == (1, 0, 7)


def test_a_new_snapshot_of_the_same_version_uses_the_cache(folder: Path) -> None:
    table = Table(folder)
    assert [hits(table.snapshot().scan()) for _ in range(3)] == [0, 1, 1]


def test_a_cached_list_is_one_event_too(folder: Path) -> None:
    table = Table(folder)
    list(table.snapshot().scan().batches())
    events: list[Event] = []
    list(table.snapshot().scan(reporter=events.append).batches())
    [event] = events
    assert isinstance(event, LogReplayCompleted)
    assert (event.phase, event.counts.adds_emitted) == (ReplayPhase.SCAN, 7)


@pytest.mark.parametrize(
    ("scan_options", "read_options"),
    [
        ({"where": "part = 'x'"}, {}),
        ({"strategy": "forward"}, {}),
        ({"batch_rows": 2}, {}),
        ({}, {"columns": ["path"]}),
        ({}, {"columns": []}),
    ],
    ids=str,
)
def test_another_request_is_another_list(
    folder: Path, scan_options: dict[str, object], read_options: dict[str, object]
) -> None:
    table = Table(folder)
    hits(table.snapshot().scan())
    assert hits(table.snapshot().scan(**scan_options), **read_options) == 0  # type: ignore[arg-type]
    assert hits(table.snapshot().scan(**scan_options), **read_options) == 1  # type: ignore[arg-type]


def test_each_version_has_its_own(folder: Path) -> None:
    table = Table(folder)
    for _ in range(2):
        assert paths(table.snapshot(version=0).scan()) == [f"f{i}" for i in range(6)]
        assert len(paths(table.snapshot(version=2).scan())) == 7


def test_a_partly_read_list_is_not_cached(folder: Path) -> None:
    table = Table(folder)
    with table.snapshot().scan(batch_rows=1).batches() as batches:
        list(islice(batches, 2))
    list(table.snapshot().scan(batch_rows=1, limit=3).batches())
    assert hits(table.snapshot().scan(batch_rows=1)) == 0


def test_a_limit_is_served_from_a_complete_list(folder: Path) -> None:
    table = Table(folder)
    whole = pa.Table.from_batches(table.snapshot().scan().batches())
    scan = table.snapshot().scan(limit=5)
    assert pa.Table.from_batches(scan.batches()) == whole.slice(0, 5)
    assert scan.metrics.counts.listing_cache_hits == 1
    assert scan.metrics.counts.adds_emitted == 5


def _age(folder: Path) -> dict[str, tuple[int, int]]:
    """Set the same modification time on every log file, and return their sizes and times."""
    for path in log_of(folder).iterdir():
        os.utime(path, ns=(10**18, 10**18))
    return {p.name: (p.stat().st_size, p.stat().st_mtime_ns) for p in log_of(folder).iterdir()}


def test_a_recreated_table_at_the_same_address_is_another_table(tmp_path: Path) -> None:
    def make(name: str, table_id: str) -> dict[str, tuple[int, int]]:
        lines = opening()
        lines[1]["metaData"]["id"] = table_id
        write_history(tmp_path, [[*lines, add(name)]])
        return _age(tmp_path)

    before = make("a", "1" * 36)
    table = Table(tmp_path)
    assert paths(table.snapshot().scan()) == ["a"]
    assert make("b", "2" * 36) == before
    assert paths(table.snapshot().scan()) == ["b"]


def test_a_rewritten_log_is_another_log(tmp_path: Path) -> None:
    table = Table(write_history(tmp_path, [[*opening(), add("a")]]))
    _age(tmp_path)
    assert paths(table.snapshot().scan()) == ["a"]
    write_history(tmp_path, [[*opening(), add("b")]])
    assert paths(table.snapshot().scan()) == ["b"]


def test_commits_of_a_catalog_have_no_time_so_nothing_is_cached(tmp_path: Path) -> None:
    write_history(tmp_path, [[*opening(), add("a")], [add("b")]])
    staged = "00000000000000000001.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    (log_of(tmp_path) / "_staged_commits").mkdir()
    commit_path(tmp_path, 1).rename(log_of(tmp_path) / "_staged_commits" / staged)
    table = Table(tmp_path)
    assert [hits(table.snapshot(log_tail=[staged]).scan()) for _ in range(2)] == [0, 0]


def test_a_large_list_is_not_cached(folder: Path) -> None:
    table = Table(folder, cache_bytes=10_000)
    assert [hits(table.snapshot().scan()) for _ in range(2)] == [0, 0]
    small = {"columns": ["size_bytes"]}
    where = {"where": "part = 'x'"}
    assert [hits(table.snapshot().scan(**where), **small) for _ in range(2)] == [0, 1]  # type: ignore[arg-type]


def test_empty_lists_do_not_accumulate(folder: Path) -> None:
    table = Table(folder, cache_bytes=10_000)
    for n in range(50):
        assert hits(table.snapshot().scan(where=f"part = 'nowhere {n}'")) == 0
    assert hits(table.snapshot().scan(where="part = 'nowhere 49'")) == 1
    assert hits(table.snapshot().scan(where="part = 'nowhere 1'")) == 0


def test_a_tripwire_makes_another_list(folder: Path) -> None:
    write_commit(folder, 3, [{"txn": {"appId": "x", "version": 1}}])
    snapshot = Table(folder).snapshot()
    assert hits(snapshot.scan()) == 0
    assert hits(snapshot.scan(tripwire="strict")) == 0
    with pytest.raises(FallbackForbiddenError):
        hits(snapshot.scan(tripwire="strict", fallback="forbidden"))


def test_with_a_cache_of_zero_bytes_nothing_is_cached(folder: Path) -> None:
    table = Table(folder, cache_bytes=0)
    assert [hits(table.snapshot().scan()) for _ in range(2)] == [0, 0]
    with pytest.raises(InvalidArgumentError, match="cache_bytes"):
        Table(folder, cache_bytes=-1)


def test_clearing_the_cache_drops_lists_and_footers(folder: Path) -> None:
    table = Table(folder)
    scan = table.snapshot().scan()
    list(scan)
    list(scan)
    assert scan.metrics.counts.footer_cache_hits == 1
    list(scan.batches())
    table.clear_cache()
    assert hits(scan) == 0
    assert scan.metrics.counts.footer_cache_hits == 0


def test_clearing_the_cache_drops_footers_of_an_engine_in_use(folder: Path) -> None:
    store = CountingLocalStore(folder)
    engine = wiring.open_executor(store)
    base = Table(folder).snapshot().segment.checkpoint
    assert base is not None
    for _ in range(2):
        store.opened.clear()
        engine.footer(base.files[0])
        assert store.opened == [base.files[0].path]
        engine.forget()


def test_a_pickled_table_has_an_empty_cache(folder: Path) -> None:
    table = Table(folder)
    list(table.snapshot().scan().batches())
    sent = pickle.loads(pickle.dumps(table))
    assert [hits(sent.snapshot().scan()) for _ in range(2)] == [0, 1]


@pytest.mark.property
@settings(max_examples=examples(60))
@given(plans(oddities=WELL_FORMED))
def test_a_cached_list_equals_a_fresh_one(plan: Plan) -> None:
    with plan.on_disk() as place:
        table = Table(place)
        for where in (None, "part = 'x'"):
            fresh = {
                version: _rows(
                    Table(place, cache_bytes=0).snapshot(version=version).scan(where=where)
                )
                for version in plan.readable
            }
            for version in (*plan.readable, *plan.readable):
                scan = table.snapshot(version=version).scan(where=where)
                assert _rows(scan) == fresh[version]


def _rows(scan: Scan) -> list[str]:
    return sorted(repr(row) for batch in scan.batches() for row in batch.to_pylist())
