"""The commit room: one writer creates a version, and the log decides after every fault."""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from headrace import Table
from headrace.commit.action import AddFile, log_path
from headrace.commit.body import CommitBody
from headrace.commit.definition import new_metadata, new_protocol, schema_string
from headrace.commit.log import NO_VERSION, find_commit, newest_version, read_commit
from headrace.commit.staged import Committed, Conflict, Staged
from headrace.errors import CommitUnknownError, StoreFailedError
from headrace.storage.local import LocalStore
from headrace.storage.store import PutMode

SCHEMA = pa.schema([("k", pa.int64()), ("part", pa.string())])


def stage(table: Path, name: str, *, store: LocalStore | None = None) -> Staged:
    table.mkdir(exist_ok=True)
    pq.write_table(pa.table({"k": [1]}), table / name)
    return Staged(store or LocalStore(str(table)), paths=(name,), commit_id=f"commit-of-{name}")


def body(table: Path, name: str, *, is_first: bool = False) -> CommitBody:
    text = schema_string(SCHEMA)
    return CommitBody(
        operation="WRITE",
        note={"by": name},
        protocol=new_protocol(text, change_feed=False) if is_first else None,
        metadata=new_metadata(
            text, name=None, description=None, partition_columns=["part"], configuration={}
        )
        if is_first
        else None,
        adds=(
            AddFile(
                path=log_path(name),
                partition_values={"part": "a b%/ü"},
                size=(table / name).stat().st_size,
                modification_time=0,
                data_change=True,
            ),
        ),
    )


def create(table: Path) -> None:
    assert stage(table, "a.parquet").commit(
        body(table, "a.parquet", is_first=True), version=0
    ) == Committed(version=0, commit_id="commit-of-a.parquet")


class Failing(LocalStore):
    """Fails one kind of operation, before or after executing it."""

    def __init__(self, root: str, *, fails: str, after: bool) -> None:
        super().__init__(root)
        self._fails, self._after = fails, after

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        if self._after:
            super().put(path, content, mode=mode)
        raise StoreFailedError(path=path, reason="the line broke")

    def read(self, path: str) -> bytes:
        if self._fails == "everything":
            raise StoreFailedError(path=path, reason="the line broke")
        return super().read(path)


def test_a_commit_is_read_by_others_as_by_us(tmp_path: Path) -> None:
    create(tmp_path / "t")
    (file,) = Table(tmp_path / "t").snapshot().scan()
    theirs = pa.table(DeltaTable(tmp_path / "t").get_add_actions(flatten=True)).to_pylist()[0]
    assert (file.path, file.partition_values) == ("a.parquet", {"part": "a b%/ü"})
    assert (theirs["path"], theirs["partition.part"]) == ("a.parquet", "a b%/ü")


def test_the_second_of_two_writers_gets_a_conflict_and_keeps_its_files(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)
    first, second = stage(table, "b.parquet"), stage(table, "c.parquet")
    assert isinstance(first.commit(body(table, "b.parquet"), version=1), Committed)
    assert second.commit(body(table, "c.parquet"), version=1) == Conflict(version=1)
    assert isinstance(second.commit(body(table, "c.parquet"), version=2), Committed)


def test_of_many_writers_each_version_has_exactly_one(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)

    def write(number: int) -> int:
        name = f"{number}.parquet"
        staged = stage(table, name)
        for version in range(1, 100):
            if isinstance(staged.commit(body(table, name), version=version), Committed):
                return version
        raise AssertionError("no version was free")

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(write, range(24)))
    assert sorted(versions) == list(range(1, 25))
    store = LocalStore(str(table))
    for number, version in enumerate(versions):
        information = read_commit(store, version)
        assert information is not None
        assert information.id == f"commit-of-{number}.parquet"


def test_a_store_that_fails_after_the_commit_has_committed(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)
    store = Failing(str(table), fails="put", after=True)
    staged = stage(table, "b.parquet", store=store)
    assert isinstance(staged.commit(body(table, "b.parquet"), version=1), Committed)


def test_a_store_that_fails_before_the_commit_raises_and_its_files_can_be_deleted(
    tmp_path: Path,
) -> None:
    table = tmp_path / "t"
    create(table)
    staged = stage(table, "b.parquet", store=Failing(str(table), fails="put", after=False))
    with pytest.raises(StoreFailedError):
        staged.commit(body(table, "b.parquet"), version=1)
    assert staged.abandon(after=0) is None
    assert not (table / "b.parquet").exists()


@pytest.mark.parametrize("after", [False, True])
def test_a_store_that_reports_nothing_leaves_all_files_in_place(
    tmp_path: Path, *, after: bool
) -> None:
    table = tmp_path / "t"
    create(table)
    store = Failing(str(table), fails="everything", after=after)
    staged = stage(table, "b.parquet", store=store)
    with pytest.raises(CommitUnknownError):
        staged.commit(body(table, "b.parquet"), version=1)
    with pytest.raises(StoreFailedError):
        staged.abandon(after=0)
    assert (table / "b.parquet").exists()


def test_files_of_a_successful_commit_are_never_abandoned(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)
    staged = stage(table, "b.parquet")
    staged.commit(body(table, "b.parquet"), version=1)
    assert staged.abandon(after=0) == Committed(version=1, commit_id="commit-of-b.parquet")
    assert (table / "b.parquet").exists()


def test_a_commit_is_found_among_those_of_others_whatever_they_wrote(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)
    strange: Iterable[dict[str, object]] = (
        {"commitInfo": {"txnId": 7, "headrace": ["?"], "operation": None}},
        {"commitInfo": None},
        {},
    )
    for version, line in enumerate(strange, start=1):
        (table / "_delta_log" / f"{version:020}.json").write_text(json.dumps(line))
    staged = stage(table, "b.parquet")
    staged.commit(body(table, "b.parquet"), version=4)
    assert find_commit(LocalStore(str(table)), "commit-of-b.parquet", after=0) == 4


def test_a_table_without_a_log_has_no_version(tmp_path: Path) -> None:
    assert newest_version(LocalStore(str(tmp_path))) == NO_VERSION


def test_cleaned_up_commits_count_while_a_checkpoint_covers_them(tmp_path: Path) -> None:
    table = tmp_path / "t"
    create(table)
    DeltaTable(table).create_checkpoint()
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert newest_version(LocalStore(str(table))) == 0


def _files(folder: Path) -> Iterator[str]:
    return (file.name for file in folder.rglob("*") if file.is_file())


def test_a_put_leaves_no_temporary_and_no_partial_file(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.put("a/b", b"1", mode=PutMode.CREATE)
    store.put("a/b", b"22", mode=PutMode.OVERWRITE)
    assert store.read("a/b") == b"22"
    assert list(_files(tmp_path)) == ["b"]
    store.delete(["a/b", "a/none"])
    store.prune("a")
    assert list(tmp_path.iterdir()) == []
