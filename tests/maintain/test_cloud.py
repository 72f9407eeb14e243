"""The life of a state on every kind of store: written, read, compacted, cleaned."""

import urllib.request
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import msgspec
import pytest

from headrace import Table
from headrace.maintain.base import read_base, read_state
from headrace.maintain.cleanup import clean
from headrace.maintain.delta_sync import replace_state
from headrace.maintain.home import DELTA_HOME, INDEXTABLES_HOME, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.setting import Compression, StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.verification import verify
from headrace.maintain.writer import StateWriter
from headrace.protocol.state import decode_anchor
from headrace.storage.cloud import PART_BYTES
from headrace.storage.store import ObjectMeta, PutMode, WritableStore
from tests.emulator.place import BUCKET, Place
from tests.emulator.relay import relayed
from tests.lake.action import add, opening
from tests.maintain.table import PLAIN, entry, metadata


def test_a_whole_life_on_a_cloud_store(place: Place, request: pytest.FixtureRequest) -> None:
    store = place.store(f"state/{request.node.name.replace('[', '-').replace(']', '')}")
    writer = StateWriter(store, settings=PLAIN)
    writer.commit([entry(f"a{n}", size=n) for n in range(100)], metadata=metadata())
    writer.commit([entry("b", size=7)], ["a3"])
    assert writer.compact() is not None
    base = read_base(store, INDEXTABLES_HOME)
    shelf = ManifestShelf(store, INDEXTABLES_HOME.root, types=partition_types(base.metadata))
    files = {e["path"]: e["size"] for e in live_entries(base, home=INDEXTABLES_HOME, shelf=shelf)}
    assert files == {f"a{n}": n for n in range(100) if n != 3} | {"b": 7}
    assert verify(store, INDEXTABLES_HOME, base).is_sound
    settings = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)
    clock = now_ms() + 3_600_000
    clean(store, INDEXTABLES_HOME, settings=settings, dry_run=False, clock_ms=clock)
    base = read_base(store, INDEXTABLES_HOME)
    assert base.version == 3
    assert verify(store, INDEXTABLES_HOME, base).is_sound
    left = [meta.path for meta in store.list_tree(INDEXTABLES_HOME.root)]
    assert sum(path.endswith("_manifest.avro") for path in left) == 1
    assert sum("/manifests/" in path for path in left) == 1


def test_a_large_manifest_is_uploaded_in_parts_before_its_state(s3: Place) -> None:
    store = s3.store("state/parts")
    noise = Random(1)
    adds = [
        entry(f"a{n}", stats=noise.randbytes(1 << 18).hex()) for n in range(2 * PART_BYTES >> 19)
    ]
    StateWriter(store, settings=StateSettings(compression=Compression.NONE)).commit(
        adds, metadata=metadata()
    )
    base = read_base(store, INDEXTABLES_HOME)
    assert base.state is not None
    (info,) = base.state.manifests
    assert info.length_bytes > PART_BYTES
    assert verify(store, INDEXTABLES_HOME, base).is_sound
    path = f"{s3.endpoint}/{BUCKET}/state/parts/_transaction_log/{info.path}"
    with urllib.request.urlopen(urllib.request.Request(path, method="HEAD")) as answer:
        assert answer.headers["ETag"].strip('"').endswith("-3")  # the number of parts


class LateListing:
    """A store with stale listings: they show what existed when it was opened."""

    def __init__(self, store: WritableStore) -> None:
        self._store = store
        self._listed = list(store.list_tree(INDEXTABLES_HOME.root))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        return (meta for meta in self._listed if meta.path.startswith(f"{directory}/"))

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        for meta in self.list_tree(directory):
            name = meta.path.removeprefix(f"{directory}/")
            if "/" not in name and name >= start_from:
                yield meta


def test_commits_and_clean_ups_do_not_depend_on_fresh_listings(s3: Place) -> None:
    store = s3.store("state/late")
    writer = StateWriter(store, settings=PLAIN)
    writer.commit([entry("a")], metadata=metadata())
    late = cast("WritableStore", LateListing(store))
    writer.commit([entry("b")])
    for path in ("c", "d"):
        StateWriter(late, settings=PLAIN).commit([entry(path)], ["a"] if path == "d" else [])
    plan, _ = clean(late, INDEXTABLES_HOME, settings=StateSettings(), dry_run=False)
    assert plan.is_empty
    base = read_base(late, INDEXTABLES_HOME)
    assert base.version == 4
    assert verify(store, INDEXTABLES_HOME, base).is_sound
    paths = [
        file.path
        for file in Table(s3.uri("state/late"), storage_options=s3.options).snapshot().scan()
    ]
    assert sorted(paths) == ["b", "c", "d"]


def test_a_state_in_another_region_is_read_with_requests_for_that_region(s3: Place) -> None:
    StateWriter(s3.store("state/region"), settings=PLAIN).commit([entry("a")], metadata=metadata())
    with relayed(s3.endpoint, every=1 << 30) as relay:
        options = {**s3.options, "endpoint_url": relay.endpoint, "aws_region": "eu-central-1"}
        snapshot = Table(s3.uri("state/region"), storage_options=options).snapshot()
        assert [file.path for file in snapshot.scan()] == ["a"]
    assert relay.heads
    assert all(b"/eu-central-1/s3/" in head for head in relay.heads)


def test_a_commit_that_was_replaced_within_a_second_is_recognised_by_its_etag(s3: Place) -> None:
    store, commit = s3.store("state/replaced"), f"_delta_log/{0:020}.json"
    for name in ("old", "new"):
        content = b"".join(
            msgspec.json.encode(line) + b"\n" for line in (*opening(), add(f"{name}.parquet"))
        )
        store.put(commit, content, mode=PutMode.OVERWRITE)
        if name == "old":
            Table(s3.uri("state/replaced"), storage_options=s3.options).state.sync()
    (listed,) = store.list("_delta_log")
    state = read_state(store, DELTA_HOME, 0)
    anchor = decode_anchor(state.anchor)
    assert anchor is not None
    assert anchor.size == listed.size_bytes
    same_second = msgspec.structs.replace(anchor, modified=listed.modified_ms)
    replace_state(store, DELTA_HOME, msgspec.structs.replace(state, anchor=same_second.encoded()))
    snapshot = Table(s3.uri("state/replaced"), storage_options=s3.options).snapshot()
    assert [file.path for file in snapshot.scan()] == ["new.parquet"]
