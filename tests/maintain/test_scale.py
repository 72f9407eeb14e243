"""Many tombstones, large legacy logs, and the data sent between processes."""

import json
import pickle

from headrace.maintain.base import read_base
from headrace.maintain.home import INDEXTABLES_HOME
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import entry, metadata, writer


def test_ten_thousand_tombstones_are_applied_and_compacted() -> None:
    store = MemoryStore()
    writer(store).commit((entry(f"f{n:05}") for n in range(12_000)), metadata=metadata())
    result = writer(store).commit(removes=[f"f{n:05}" for n in range(10_000)])
    assert (result.removed, result.num_files) == (10_000, 2_000)
    assert len(oracle.read(store.objects).record["tombstones"]) == 10_000
    writer(store).compact()
    read = oracle.read(store.objects)
    assert (len(read.files), len(read.entries), read.record["tombstones"]) == (2_000, 2_000, [])


def test_a_large_legacy_log_is_upgraded() -> None:
    store = MemoryStore()
    first = [{"protocol": {"minReaderVersion": 2}}, {"metaData": metadata()}]
    adds = [{"add": entry(f"f{n:05}", size=n)} for n in range(20_000)]
    for version, lines in enumerate((first, adds)):
        body = "".join(json.dumps(line) + "\n" for line in lines)
        store.objects[f"_transaction_log/{version:020}.json"] = body.encode()
    writer(store).checkpoint()
    assert oracle.read(store.objects).files == {f"f{n:05}": n for n in range(20_000)}


def test_entries_and_states_survive_pickle() -> None:
    store = MemoryStore()
    writer(store).commit([entry("a")], metadata=metadata())
    base = read_base(store, INDEXTABLES_HOME)
    assert pickle.loads(pickle.dumps(base)) == base
    (listed,) = oracle.read(store.objects).entries
    assert pickle.loads(pickle.dumps(listed)) == listed
