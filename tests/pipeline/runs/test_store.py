"""The artifact store: what it returns, despite failures and concurrent writers."""

import logging
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.errors import BundleDamagedError, HeadraceError, RunNotFoundError
from headrace.pipeline import Bundle, Project, RunKind, RunStatus, ViewRun, ViewStatus
from headrace.pipeline.runs import upkeep
from headrace.pipeline.runs.artifact import StoreTable
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.file_mark import MARKS
from tests.effort import EXAMPLES, STANDARD, examples
from tests.pipeline.embedded import run
from tests.pipeline.runs.faults import Fault, Moment
from tests.pipeline.runs.history import HOUR_MS, run_of, view_of
from tests.pipeline.shop import append_orders, write_shop

ENGINE = "datafusion"
RAN, FAILED = ViewStatus.RAN, ViewStatus.FAILED


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Project.load(write_shop(tmp_path_factory.mktemp("store") / "shop")).plan(engine=ENGINE)


def live_files(folder: Path, table: str) -> int:
    return Table(folder / "store" / table).snapshot().scan().count()


def mark_of(path: str, content: str) -> pa.Table:
    row = {"source": "s", "path": path, "size_bytes": 1, "modified_ns": 2, "content": content}
    return pa.Table.from_pylist([row], schema=MARKS)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(RunKind),
        st.dictionaries(st.sampled_from("abc"), st.sampled_from(ViewStatus), max_size=3),
        st.sampled_from(["keep", "lose the index", "damage the index", "merge", "another writer"]),
    ),
    max_size=6,
)


@settings(max_examples=examples(25))
@given(EVENTS)
def test_the_newest_results_are_those_of_a_naive_search_through_history(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[tuple[RunKind, dict[str, ViewStatus], str]],
) -> None:
    folder = tmp_path_factory.mktemp("state")
    expected: dict[str, str] = {}
    for number, (kind, views, event) in enumerate(events):
        record = run_of(number, kind=kind)
        store = ArtifactStore(folder)
        store.add_run(record)
        store.add_views(record, [view_of(name, status) for name, status in views.items()])
        if kind is RunKind.RUN:
            expected |= {n: record.id for n, s in views.items() if view_of(n, s).stands}
        match event:
            case "lose the index":
                (folder / "results.json").unlink(missing_ok=True)
            case "damage the index" if (folder / "results.json").exists():
                (folder / "results.json").write_bytes(b'{"version": ')
            case "merge" if (folder / "store" / "views").exists():
                table = store._tables[StoreTable.VIEWS]
                snapshot = table.snapshot()
                assert snapshot is not None
                table.replace_files(snapshot, list(snapshot.scan()), table.read(table.schema.names))
            case "another writer" if (folder / "store" / "views").exists():
                table = store._tables[StoreTable.VIEWS]
                write_deltalake(
                    folder / "store" / "views", table.schema.empty_table(), mode="append"
                )
        results = ArtifactStore(folder).last_results("abc")
        assert {name: result.run for name, result in results.items()} == expected


def test_rows_that_another_writer_added_are_seen(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    store.add_run(run_of(1))
    store.add_views(run_of(1), [view_of("a", RAN)])
    elsewhere = ArtifactStore(tmp_path / "elsewhere")
    elsewhere.add_run(run_of(2))
    elsewhere.add_views(run_of(2), [view_of("a", RAN)])
    for table in ("runs", "views"):
        rows = DeltaTable(tmp_path / "elsewhere" / "store" / table).to_pyarrow_table()
        write_deltalake(tmp_path / "store" / table, rows, mode="append")
    assert store.last_results(["a"])["a"].run == "run-00002"


def test_a_retried_run_is_shown_with_its_final_status(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    first = run_of(1)
    store.add_run(msgspec.structs.replace(first, status=RunStatus.FAILED))
    store.add_views(first, [view_of("a", FAILED)])
    again = msgspec.structs.replace(first, started_ms=first.started_ms + 5)
    store.add_run(msgspec.structs.replace(again, status=RunStatus.RUNNING))
    store.add_views(again, [view_of("a", RAN)])
    store.add_run(again)
    shown = store.find(first.id)
    assert (shown.status, shown.views["a"].status) == (RunStatus.SUCCEEDED, RAN)


def test_the_newest_runs_are_listed_in_order_and_found_by_a_prefix_of_their_id(
    tmp_path: Path,
) -> None:
    store = ArtifactStore(tmp_path)
    for number in (3, 1, 12, 2):
        store.add_run(run_of(number))
    assert [run.id[-2:] for run in store.runs(limit=2)] == ["12", "03"]
    assert [run.id[-2:] for run in store.runs()] == ["12", "03", "02", "01"]
    assert store.runs(limit=0) == []
    assert store.find("latest").id == "run-00012"
    assert store.find("run-0001").id == "run-00012"
    for wrong in ("run-", "nothing", "", "run-' OR '1' = '1"):
        with pytest.raises(RunNotFoundError):
            store.find(wrong)


def test_the_mark_of_a_file_is_the_newest_at_or_before_a_run(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    for number, content in ((1, "old"), (3, "new")):
        store.add_marks(run_of(number), mark_of("f", content))
    store.add_marks(run_of(2), mark_of("g", "other"))

    def contents(until: int | None) -> dict[str, str]:
        run = None if until is None else run_of(until)
        rows = store.marks("s", until=run).to_pylist()
        return {row["path"]: row["content"] for row in rows}

    assert contents(None) == {"f": "new", "g": "other"}
    assert contents(2) == {"f": "old", "g": "other"}
    assert contents(0) == {}
    assert store.marks("another").num_rows == 0


def test_a_bundle_and_its_lists_of_files_are_stored_once_and_read_back(
    tmp_path: Path, bundle: Bundle
) -> None:
    store = ArtifactStore(tmp_path)
    store.add_bundle(bundle)
    times = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    store.add_bundle(bundle)
    assert {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*") if f.is_file()} == times
    stored = store.bundle(bundle.id)
    assert stored == bundle
    assert stored["revenue"].unit("orders").paths == bundle["revenue"].unit("orders").paths


def test_a_damaged_bundle_is_refused_and_replaced_when_it_is_stored_again(
    tmp_path: Path, bundle: Bundle
) -> None:
    store = ArtifactStore(tmp_path)
    store.add_bundle(bundle)
    (file,) = (tmp_path / "bundles").iterdir()
    for content in (b"", b"garbage", file.read_bytes()[:-20]):
        file.write_bytes(content)
        with pytest.raises(BundleDamagedError):
            store.bundle(bundle.id)
        store.add_bundle(bundle)
        assert store.bundle(bundle.id) == bundle


@pytest.mark.parametrize("name", ["../../secret", "", "b", "0" * 64, "'"])
def test_an_invalid_bundle_id_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunNotFoundError):
        ArtifactStore(tmp_path).bundle(name)


def lose(file: Path) -> None:
    file.unlink()


def garble(file: Path) -> None:
    file.write_bytes(b"garbage")


def set_format(file: Path) -> None:
    stored = pa.CompressedInputStream(pa.BufferReader(file.read_bytes()), "zstd").read()
    later = msgspec.json.decode(stored) | {"format": 99}
    file.write_bytes(pa.compress(msgspec.json.encode(later), codec="zstd", asbytes=True))


@pytest.mark.parametrize("damage", [lose, garble, set_format])
def test_a_project_with_an_unreadable_last_bundle_runs_and_warns_once(
    shop: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(shop)
    append_orders(shop, year=2024, count=9)
    second = run(shop)
    for file in (shop / ".headrace" / "bundles").iterdir():
        damage(file)  # type: ignore[operator]
    project = Project.load(shop)
    assert set(project.show(first.id).views) == {"forecast", "revenue", "top"}
    assert len(project.runs()) == 2
    difference = project.diff(first.id, second.id)
    assert {view.view for view in difference.views} == {"forecast", "revenue", "top"}
    with caplog.at_level(logging.WARNING):
        why = project.why("forecast", engine=ENGINE)
    assert "cannot be read" in why.reason
    assert len([r for r in caplog.records if "run again" in r.message]) <= 2
    again = run(shop)
    assert again.status is RunStatus.SUCCEEDED
    assert {view.status for view in run(shop).views.values()} == {ViewStatus.SKIPPED}


def record_two_runs(store: ArtifactStore, bundle: Bundle) -> list[str]:
    """Do to a store what runs do, and return the runs that were recorded as ended."""
    ended = []
    for number in (1, 2):
        record = run_of(number, bundle=bundle.id)
        store.add_bundle(bundle)
        store.add_run(msgspec.structs.replace(record, status=RunStatus.RUNNING))
        store.add_marks(record, mark_of(f"file-{number}", "hash"))
        store.add_units(record, bundle, ["revenue"])
        store.add_views(record, [view_of("revenue", RAN, key=str(number))])
        store.add_run(record)
        ended.append(record.id)
        store.upkeep(now_ms=record.started_ms * 2)
    return ended


def check_whole(folder: Path, bundle: Bundle, ended: set[str]) -> None:
    """Check that all tables are readable, and that no committed file and no ended run is lost."""
    for log in (folder / "store").glob("*/_delta_log"):
        rows = DeltaTable(log.parent).to_pyarrow_table()
        assert rows.num_rows == Table(log.parent).snapshot().rows().read_all().num_rows
        for file in Table(log.parent).snapshot().scan():
            assert Path(file.uri).exists()
    store = ArtifactStore(folder)
    known = {run.id for run in store.runs() if run.status is RunStatus.SUCCEEDED}
    assert ended <= known
    for run_id in ended:
        assert store.find(run_id).views["revenue"].status is RAN
        assert store.bundle(store.find(run_id).bundle) == bundle
    if ended:
        newest: ViewRun = store.last_results(["revenue"])["revenue"].record
        assert (newest.skip_key or "") >= max(ended)[-1]


@pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.value)
def test_after_any_failed_operation_the_store_is_intact_and_the_next_run_recorded(
    tmp_path: Path, bundle: Bundle, moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_COMMITS_BETWEEN", 2)
    monkeypatch.setattr(upkeep, "_FILES_TO_MERGE", 2)
    monkeypatch.setattr("os.fsync", lambda _: None)
    undisturbed = Fault()
    record_two_runs(ArtifactStore(tmp_path / "calm", open_store=undisturbed.open), bundle)
    assert undisturbed.count > 60
    failed = 0
    step = max(1, 8 * STANDARD // EXAMPLES)
    faults = range(1 if moment is Moment.BEFORE else 5, undisturbed.count + 1, step)
    for number in faults:
        folder = tmp_path / f"{number}"
        fault = Fault(number, moment)
        ended: set[str] = set()
        try:
            ended = {*record_two_runs(ArtifactStore(folder, open_store=fault.open), bundle)}
        except HeadraceError:
            failed += 1
        check_whole(folder, bundle, ended)
        ended |= {*record_two_runs(ArtifactStore(folder), bundle)}
        check_whole(folder, bundle, ended)
    assert failed > 0


def test_a_store_stays_compact_and_a_reader_that_began_before_is_not_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    store = ArtifactStore(tmp_path)
    count, reading = 150, []
    for number in range(count):
        record = run_of(number)
        store.add_run(msgspec.structs.replace(record, status=RunStatus.RUNNING))
        store.add_views(record, [view_of(name, RAN) for name in "ab"])
        store.add_run(record)
        if number == count - 40:
            reading = [Table(tmp_path / "store" / table).snapshot() for table in ("runs", "views")]
        store.upkeep()
    assert [snapshot.rows().read_all().num_rows for snapshot in reading] == [222, 222]
    assert live_files(tmp_path, "runs") < 60
    assert len(store.runs()) == count
    assert DeltaTable(tmp_path / "store" / "views").to_pyarrow_table().num_rows == 2 * count
    in_a_day = 2 * upkeep.GRACE_MS + max(
        int(file.stat().st_mtime * 1000) for file in tmp_path.rglob("*.json")
    )
    foreign = tmp_path / "store" / "runs" / "foreign.parquet"
    foreign.write_bytes(b"somebody else's")
    for number in range(count, count + 40):
        store.add_run(run_of(number))
        store.add_views(run_of(number), [view_of("a", RAN)])
        store.upkeep(now_ms=in_a_day + number * HOUR_MS)
    assert len(list((tmp_path / "store" / "runs").rglob("*"))) < 150
    assert foreign.exists()
    assert len(ArtifactStore(tmp_path).runs()) == count + 40
    assert DeltaTable(tmp_path / "store" / "runs").to_pyarrow_table().num_rows == 2 * count + 40
    assert ArtifactStore(tmp_path).last_results("ab")["a"].run == run_of(count + 39).id
