"""Clean-up: what it deletes, what it keeps, and that it does nothing rather than harm."""

import msgspec
import pytest

from headrace.avro.state_file import decode_state, encode_state
from headrace.errors import CleanupRefusedError
from headrace.maintain.cleanup import clean, plan_cleanup, run_cleanup
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.setting import StateSettings
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import entry, table, writer

HOUR = 3_600_000
SETTINGS = StateSettings(retention_versions=1, retention_hours=10)


def history(versions: int = 5) -> MemoryStore:
    store = table("f1")
    for number in range(2, versions + 1):
        writer(store).commit([entry(f"f{number}")])
    return store


def later(store: MemoryStore, hours: float) -> int:
    return int(store.now_ms + hours * HOUR) + 10_000


def test_states_beyond_both_retentions_are_deleted_and_the_newest_kept() -> None:
    store = history()
    plan, result = clean(
        store, INDEXTABLES_HOME, settings=SETTINGS, dry_run=False, clock_ms=later(store, 11)
    )
    assert (plan.current, plan.retained, plan.states) == (5, (4, 5), (1, 2, 3))
    assert result.deleted_states == 3
    assert oracle.states(store.objects) == [4, 5]
    assert len(oracle.read(store.objects).files) == 5


def test_young_states_are_kept_however_many_there_are() -> None:
    store = history()
    plan = plan_cleanup(store, INDEXTABLES_HOME, settings=SETTINGS, clock_ms=later(store, 9))
    assert plan.is_empty


def test_the_newest_versions_are_kept_however_old_they_are() -> None:
    store = history(3)
    settings = msgspec.structs.replace(SETTINGS, retention_versions=7)
    plan = plan_cleanup(store, INDEXTABLES_HOME, settings=settings, clock_ms=later(store, 9999))
    assert plan.is_empty


def test_the_newest_state_is_kept_without_any_retention() -> None:
    store = history()
    settings = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)
    clean(store, INDEXTABLES_HOME, settings=settings, dry_run=False, clock_ms=later(store, 1))
    assert oracle.states(store.objects) == [5]
    assert len(oracle.read(store.objects).files) == 5


def test_a_dry_run_deletes_nothing() -> None:
    store = history()
    before = dict(store.objects)
    _, result = clean(
        store, INDEXTABLES_HOME, settings=SETTINGS, dry_run=True, clock_ms=later(store, 11)
    )
    assert (result.dry_run, store.objects) == (True, before)


def test_orphaned_manifests_are_deleted_once_they_are_old_enough() -> None:
    store = history(2)
    orphan = "_transaction_log/manifests/manifest-0123456789abcdef.avro"
    store.objects[orphan] = b"x"
    store.modified[orphan] = store.now_ms
    for hours, is_kept in ((0.5, True), (1.5, False)):
        clean(
            store, INDEXTABLES_HOME, settings=SETTINGS, dry_run=False, clock_ms=later(store, hours)
        )
        assert (orphan in store.objects) is is_kept


def test_an_object_of_unknown_age_is_not_deleted() -> None:
    store = history(2)
    orphan = "_transaction_log/manifests/manifest-0123456789abcdef.avro"
    store.objects[orphan], store.modified[orphan] = b"x", 0
    for path in store.objects:
        store.modified[path] = 0
    plan = plan_cleanup(store, INDEXTABLES_HOME, settings=SETTINGS, clock_ms=later(store, 5))
    assert plan.is_empty


def test_files_that_are_not_ours_are_never_candidates() -> None:
    store = history(2)
    others = (
        "_transaction_log/manifests/readme.txt",
        "_transaction_log/manifests/deeper/manifest-00.avro",
        "_transaction_log/mine.avro",
    )
    store.objects.update(dict.fromkeys(others, b"x"))
    settings = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)
    clean(store, INDEXTABLES_HOME, settings=settings, dry_run=False, clock_ms=later(store, 99))
    assert all(path in store.objects for path in others)


def test_a_state_that_cannot_be_read_stops_everything() -> None:
    store = history()
    store.objects[f"_transaction_log/state-v{4:020}/_manifest.avro"] = b"Obj\x01 damaged"
    before = dict(store.objects)
    with pytest.raises(CleanupRefusedError) as caught:
        clean(store, INDEXTABLES_HOME, settings=SETTINGS, dry_run=False, clock_ms=later(store, 99))
    assert caught.value.path.endswith(f"state-v{4:020}/_manifest.avro")
    assert store.objects == before


def test_a_manifest_that_a_newer_state_references_is_kept() -> None:
    store = history(3)
    writer(store).compact()
    settings = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)
    clock = later(store, 1)
    plan = plan_cleanup(store, INDEXTABLES_HOME, settings=settings, clock_ms=clock)
    assert plan.manifests
    # A commit that references them again happens between the plan and its execution.
    path, older = (f"_transaction_log/state-v{v:020}/_manifest.avro" for v in (5, 3))
    state = decode_state(store.objects[older], path=older)
    store.objects[path] = encode_state(msgspec.structs.replace(state, state_version=5))
    run_cleanup(store, INDEXTABLES_HOME, plan)
    oracle.read(store.objects, 5)


def test_concurrent_clean_ups_delete_nothing_more() -> None:
    store = history()
    clock = later(store, 11)
    first = plan_cleanup(store, INDEXTABLES_HOME, settings=SETTINGS, clock_ms=clock)
    second = plan_cleanup(store, INDEXTABLES_HOME, settings=SETTINGS, clock_ms=clock)
    run_cleanup(store, INDEXTABLES_HOME, first)
    run_cleanup(store, INDEXTABLES_HOME, second)
    assert oracle.states(store.objects) == [4, 5]
    oracle.read(store.objects)


def test_a_clean_up_that_is_interrupted_anywhere_leaves_only_readable_states() -> None:
    for at in range(1, 30):
        store = history()
        writer(store).compact()
        settings = StateSettings(retention_versions=0, retention_hours=0, min_manifest_age_hours=0)
        client = store.sharing()
        count = 0

        def stop(_operation: str, _path: str, *, limit: int = at) -> None:
            nonlocal count
            count += 1
            if count == limit:
                raise KeyboardInterrupt

        client.before = stop
        try:
            clean(
                client, INDEXTABLES_HOME, settings=settings, dry_run=False, clock_ms=later(store, 1)
            )
        except KeyboardInterrupt:
            pass
        else:
            break
        for version in oracle.states(store.objects):
            oracle.read(store.objects, version)
        assert oracle.read(store.objects).version == 6
    else:
        pytest.fail("it never came to its end")


@pytest.mark.parametrize("hours_ahead", [0, 2])
def test_a_machine_whose_clock_is_ahead_deletes_nothing_of_a_running_commit(
    monkeypatch: pytest.MonkeyPatch, hours_ahead: float
) -> None:
    store = table("a")
    ahead_ms = later(store, hours_ahead)
    monkeypatch.setattr("headrace.maintain.cleanup.now_ms", lambda: ahead_ms)

    def clean_before_the_commit(operation: str, path: str) -> None:
        if operation == "put" and path.endswith("_manifest.avro"):
            other = store.sharing()
            clean(other, INDEXTABLES_HOME, settings=StateSettings(), dry_run=False)

    store.before = clean_before_the_commit
    writer(store).commit([entry("b")])
    assert set(oracle.read(store.objects).files) == {"a", "b"}
    assert not any("clock" in path for path in store.objects)
