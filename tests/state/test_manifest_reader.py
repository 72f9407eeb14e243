"""Manifests as the engine reads them: sizes, filters by version and time, parallel reads."""

import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace import wiring
from headrace.avro.codec import Codec, CodecName
from headrace.avro.manifest import ManifestWriter
from headrace.errors import CorruptStateError
from headrace.log.state import State
from headrace.plan.batch import ActionBatch
from headrace.plan.context import ExecutionContext, ExecutionSettings
from headrace.plan.node import ScanAvro
from headrace.protocol.action import Add
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import (
    AddedAfter,
    Entry,
    ManifestInfo,
    StateManifest,
    Tombstone,
    Tombstones,
)
from headrace.storage.local import LocalStore
from tests.avro.entry import entry

COLUMNS = ("add.path", "add.deletionVector", "add.partitionValues", "add.size", "add.stats")


def put(folder: Path, name: str, entries: list[Entry], **options: Any) -> ManifestInfo:
    writer = ManifestWriter(**options)
    writer.append(entries)
    written = writer.finish()
    (folder / name).write_bytes(written.content())
    return msgspec.structs.replace(written.info, path=name)


def read(folder: Path, infos: list[ManifestInfo], *, threads: int = 2, **options: Any) -> list[Add]:
    plan = ScanAvro(
        files=tuple(LogFile(path=info.path) for info in infos),
        columns=COLUMNS,
        manifests=tuple(infos),
        **options,
    )
    context = ExecutionContext(settings=ExecutionSettings(leaf_parallelism=threads))
    executor = wiring.open_executor(LocalStore(str(folder))).bound(context)
    batches = [batch for batch in executor.execute(plan) if isinstance(batch, ActionBatch)]
    return [add for batch in batches for add in batch.actions("add")]


def paths(adds: list[Add]) -> list[str]:
    return sorted(add.path for add in adds)


def test_an_empty_manifest_has_no_file(tmp_path: Path) -> None:
    assert read(tmp_path, [put(tmp_path, "m", [])]) == []


@pytest.mark.parametrize("codec", CodecName)
def test_entries_are_adds_whatever_their_codec(tmp_path: Path, codec: CodecName) -> None:
    one = entry("a", partition={"date": "2026-01-01"}, size=7, stats='{"numRecords":3}')
    (add,) = read(tmp_path, [put(tmp_path, "m", [one], codec=Codec(codec))])
    assert (add.path, add.size, add.stats) == ("a", 7, '{"numRecords":3}')
    assert add.partition_values == {"date": "2026-01-01"}


def test_an_entry_without_partition_values_and_statistics_is_read(tmp_path: Path) -> None:
    (add,) = read(tmp_path, [put(tmp_path, "m", [entry("a")])])
    assert (add.partition_values, add.stats) == ({}, None)


def test_a_large_manifest_is_read_whole(tmp_path: Path) -> None:
    entries = [entry(f"{number:06}") for number in range(100_000)]
    adds = read(tmp_path, [put(tmp_path, "m", entries)])
    assert paths(adds) == [f"{number:06}" for number in range(100_000)]


@pytest.mark.parametrize("threads", [1, 4])
def test_many_manifests_are_read_in_parallel(tmp_path: Path, threads: int) -> None:
    infos = [put(tmp_path, f"m{n}", [entry(f"{n}-{i}") for i in range(50)]) for n in range(10)]
    adds = read(tmp_path, infos, threads=threads)
    assert paths(adds) == sorted(f"{n}-{i}" for n in range(10) for i in range(50))


def test_entries_are_filtered_by_the_version_that_added_them(tmp_path: Path) -> None:
    info = put(tmp_path, "m", [entry(str(v), addedAtVersion=v) for v in range(1, 6)])
    assert paths(read(tmp_path, [info], added_after=AddedAfter(version=3))) == ["4", "5"]


def test_entries_are_filtered_by_the_time_that_added_them(tmp_path: Path) -> None:
    info = put(tmp_path, "m", [entry(str(t), addedAtTimestamp=t) for t in range(1, 6)])
    assert paths(read(tmp_path, [info], added_after=AddedAfter(timestamp_ms=3))) == ["4", "5"]


def test_manifests_that_are_too_old_are_not_opened(tmp_path: Path) -> None:
    old = put(tmp_path, "old", [entry("a", addedAtVersion=1)])
    new = put(tmp_path, "new", [entry("b", addedAtVersion=9)])
    (tmp_path / "old").unlink()
    assert paths(read(tmp_path, [old, new], added_after=AddedAfter(version=5))) == ["b"]


def test_entries_with_version_0_inherit_that_of_their_manifest(tmp_path: Path) -> None:
    info = put(tmp_path, "m", [entry("a", addedAtVersion=0)])
    info = msgspec.structs.replace(info, min_added_at_version=7, max_added_at_version=7)
    assert paths(read(tmp_path, [info], added_after=AddedAfter(version=6))) == ["a"]
    assert read(tmp_path, [info], added_after=AddedAfter(version=7)) == []


def test_many_tombstones_hide_their_entries(tmp_path: Path) -> None:
    info = put(tmp_path, "m", [entry(f"{number:05}") for number in range(20_000)])
    hidden = tuple(
        Tombstone(path=f"{number:05}", removed_at_version=2) for number in range(0, 20_000, 2)
    )
    adds = read(tmp_path, [info], tombstones=Tombstones(entries=hidden))
    assert paths(adds) == [f"{number:05}" for number in range(1, 20_000, 2)]


def test_a_truncated_manifest_is_damage(tmp_path: Path) -> None:
    info = put(tmp_path, "m", [entry(str(number)) for number in range(50)])
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptStateError, match="bytes, but its state records"):
        read(tmp_path, [info])


def test_a_state_and_an_entry_survive_pickling() -> None:
    one = entry("a", partition={"date": "2026-01-01"})
    state = State(
        root="_headrace",
        file=LogFile(path="s"),
        manifest=StateManifest(
            state_version=1,
            created_at=1,
            num_files=1,
            total_bytes=1,
            manifests=(),
            tombstone_entries=(Tombstone(path="a", removed_at_version=1),),
        ),
    )
    assert pickle.loads(pickle.dumps((one, state))) == (one, state)
