"""An event names its table, because a service may read hundreds of tables."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, get_args

import pytest

from headrace import Table
from headrace.errors import LogGapError, ObjectNotFoundError
from headrace.metrics.event import Event, TableEvent
from headrace.phases.snapshot import ReadChecksum, SnapshotRequest
from tests.lake.action import add, opening, protocol
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import (
    state_at,
    write_checksum,
    write_commit,
    write_compaction,
    write_history,
    write_lines,
)

Damage: TypeAlias = Callable[[Path], Path]

HISTORY = [[*opening(), add("a")], [add("b")], [add("c")]]


def broken_checkpoint(table: Path) -> Path:
    [path] = write_checkpoint(table, 1, state_at(HISTORY, 1))
    path.write_bytes(b"x")
    return path


def lost_sidecar(table: Path) -> Path:
    shape = Shape(form=Form.V2_JSON, sidecars=1)
    manifest, sidecar = write_checkpoint(table, 1, state_at(HISTORY, 1), shape)
    sidecar.unlink()
    return manifest


def broken_compaction(table: Path) -> Path:
    return write_lines(write_compaction(table, 1, 2, HISTORY), [add("b"), add("b")])


def undecodable_checksum(table: Path) -> Path:
    path = write_checksum(table, 2, state_at(HISTORY, 2))
    path.write_bytes(b"{")
    return path


def forbidding_checksum(table: Path) -> Path:
    other = [[*opening()[1:], protocol(reader=99), add("a")]]
    return write_checksum(table, 2, state_at(other, 0))


def mistaken_checksum(table: Path) -> Path:
    return write_checksum(table, 2, state_at(HISTORY, 1))


every_damage = pytest.mark.parametrize(
    ("damage", "name"),
    [
        (broken_checkpoint, "CheckpointAbandoned"),
        (lost_sidecar, "CheckpointAbandoned"),
        (broken_compaction, "CompactionAbandoned"),
        (undecodable_checksum, "ChecksumIgnored"),
        (forbidding_checksum, "ChecksumIgnored"),
        (mistaken_checksum, "ChecksumMismatched"),
    ],
)


@every_damage
@pytest.mark.parametrize("strategy", ["reverse", "forward"])
def test_a_tolerated_anomaly_names_its_table_and_file_once(
    tmp_path: Path, damage: Damage, name: str, strategy: str
) -> None:
    table = write_history(tmp_path, HISTORY)
    path = damage(table)
    events: list[Event] = []
    source = Table(table, reporter=events.append)
    assert len(list(source.snapshot().scan(strategy=strategy))) == 3
    texts = [str(event) for event in events if type(event).__name__ == name]
    assert texts
    for line in texts:
        assert line.startswith(f"{source.uri}: {path.relative_to(table)} ")
        assert (line.count(source.uri), line.count(path.name)) == (1, 1)


def test_a_checksum_that_vanishes_is_named_once(tmp_path: Path) -> None:
    write_history(tmp_path, HISTORY)
    mistaken_checksum(tmp_path)
    segment = Table(tmp_path).snapshot().segment
    assert segment.checksum is not None
    path = segment.checksum.path
    request = SnapshotRequest(table="t")
    reading = ReadChecksum(request=request, segment=segment, file=segment.checksum)
    [event] = reading.failed(ObjectNotFoundError(path=path)).events
    assert str(event) == f"t: {path} was ignored: no such object"


def test_a_refresh_that_starts_again_names_its_table_once(tmp_path: Path) -> None:
    write_history(tmp_path, HISTORY[:1])
    events: list[Event] = []
    table = Table(tmp_path, reporter=events.append)
    snapshot = table.snapshot()
    write_commit(tmp_path, 2, HISTORY[2])
    with pytest.raises(LogGapError):
        snapshot.refresh()
    [event] = events
    assert str(event).startswith(
        f"{table.uri}: a new snapshot was taken instead of a refresh: commit 1 is missing"
    )


def test_every_event_names_its_table() -> None:
    assert all(issubclass(kind, TableEvent) for kind in get_args(Event))
