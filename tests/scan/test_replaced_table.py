"""A table that was dropped and recreated is never read through a snapshot of the old one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace
from headrace.errors import SnapshotExpiredError
from tests.lake.action import Line, add, metadata, protocol
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.listing import open_snapshot

Read = Callable[[headrace.Snapshot], object]
READS: dict[str, Read] = {
    "files": lambda snapshot: list(snapshot.scan()),
    "batches": lambda snapshot: list(snapshot.scan().batches()),
    "filtered": lambda snapshot: list(snapshot.scan(where="id = 1").batches()),
    "forward": lambda snapshot: list(snapshot.scan(strategy="forward")),
    "count": lambda snapshot: snapshot.scan().count(),
    "rows": lambda snapshot: snapshot.rows().read_all(),
    "txns": lambda snapshot: snapshot.txns,
}


def history(table_id: str, commits: int) -> list[list[Line]]:
    described = metadata(columns={"id": "long"}, partition_columns=())
    described["metaData"]["id"] = table_id
    files = [[add(f"{table_id}-{n}.parquet", size=7)] for n in range(commits)]
    return [[protocol(), described], *files]


def recreate_table(table: Path, commits: int) -> None:
    shutil.rmtree(table)
    write_history(table, history("new", commits))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("commits", [3, 9])
def test_commits_of_another_table_are_not_read(tmp_path: Path, read: Read, commits: int) -> None:
    table = write_history(tmp_path / "t", history("old", 3))
    snapshot = open_snapshot(table)
    recreate_table(table, commits)
    with pytest.raises(SnapshotExpiredError):
        read(snapshot)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("form", [Form.CLASSIC, Form.MULTI_PART, Form.V2_PARQUET, Form.V2_JSON])
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_checkpoints_of_another_table_are_not_read(
    tmp_path: Path, read: Read, form: Form, *, has_checkpoint: bool
) -> None:
    table = write_history(tmp_path / "t", history("old", 3))
    shape = Shape(form=form, sidecars=1 if form in (Form.V2_PARQUET, Form.V2_JSON) else 0)
    write_checkpoint(table, 3, state_at(history("old", 3), 3), shape)
    snapshot = open_snapshot(table)
    recreate_table(table, 3)
    if has_checkpoint:
        write_checkpoint(table, 3, state_at(history("new", 3), 3), shape)
        for version in range(4):
            commit_path(table, version).unlink()
    with pytest.raises(SnapshotExpiredError):
        read(snapshot)


def test_an_unchanged_table_can_still_be_read(tmp_path: Path) -> None:
    table = write_history(tmp_path / "t", history("old", 3))
    snapshot = open_snapshot(table)
    write_checkpoint(table, 3, state_at(history("old", 3), 3))
    commit_path(table, 4).write_text("")
    assert len(list(snapshot.scan())) == 3
