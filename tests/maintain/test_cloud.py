"""A whole life of a state on every kind of store: written, read, compacted, cleaned."""

import pytest

from headrace.maintain.base import read_base
from headrace.maintain.cleanup import clean
from headrace.maintain.home import INDEXTABLES_HOME, partition_types
from headrace.maintain.live import live_entries
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.setting import StateSettings
from headrace.maintain.staging import now_ms
from headrace.maintain.verification import verify
from headrace.maintain.writer import StateWriter
from tests.emulator.place import Place
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
