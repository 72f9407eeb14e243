"""A whole life of a state on every kind of store: written, read, compacted, cleaned."""

import urllib.request
from random import Random

import pytest

from headrace.maintain.base import read_base
from headrace.maintain.cleanup import clean
from headrace.maintain.home import INDEXTABLES_HOME, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.setting import Compression, StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.verification import verify
from headrace.maintain.writer import StateWriter
from headrace.storage.cloud import PART_BYTES
from tests.emulator.place import BUCKET, Place
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


def test_a_large_manifest_goes_up_in_parts_before_its_state(s3: Place) -> None:
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
