"""Random histories against a dictionary: no file is lost or resurrected, and counts are exact."""

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.errors import StoreFailedError
from headrace.maintain.cleanup import clean
from headrace.maintain.home import INDEXTABLES_HOME
from headrace.maintain.setting import StateSettings
from headrace.maintain.writer import StateWriter
from tests.effort import EXAMPLES
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import entry, metadata

SETTINGS = StateSettings(
    backoff_ms=0,
    max_manifests=3,
    entries_per_manifest=8,
    entries_per_block=3,
    tombstone_threshold=0.5,
    retention_versions=1,
    retention_hours=0,
)
paths = st.sampled_from([f"part={p}/f{n}" for p in "ab" for n in range(5)])
some_paths = st.lists(paths, max_size=4, unique=True)


class Crash(BaseException):
    """Simulates the end of the process."""


class History(RuleBasedStateMachine):
    """Add and remove files, crash at any operation, compact and clean states."""

    @initialize()
    def create(self) -> None:
        self.store = MemoryStore()
        self.truth: dict[str, int] = {}
        self.size = 0
        self.writer().commit([], metadata=metadata())

    def writer(self, **more: object) -> StateWriter:
        chosen = msgspec.structs.replace(SETTINGS, **more)
        return StateWriter(self.store, settings=chosen, sleep=lambda _: None)

    def entries(self, names: list[str]) -> list[dict[str, object]]:
        self.size += 1
        return [entry(name, size=self.size, part=name[5]) for name in names]

    @rule(adds=some_paths, removes=some_paths)
    def commit(self, adds: list[str], removes: list[str]) -> None:
        result = self.writer().commit(self.entries(adds), removes)
        assert set(result.missed) == set(removes) - self.truth.keys()
        self.apply(adds, removes)

    @rule(adds=some_paths, removes=some_paths, other=some_paths)
    def two_writers(self, adds: list[str], removes: list[str], other: list[str]) -> None:
        """Another writer adds files between our read of the base and our put."""
        mine = self.store.sharing()

        def interfere(operation: str, path: str) -> None:
            if operation == "put" and path.endswith("/_manifest.avro"):
                mine.before = lambda *_: None
                self.writer().commit(self.entries(other))
                self.apply(other, [])

        mine.before = interfere
        entries = self.entries(adds)
        sizes = self.size
        StateWriter(mine, settings=SETTINGS, sleep=lambda _: None).commit(entries, removes)
        self.apply(adds, removes, size=sizes)

    @rule(
        adds=some_paths,
        removes=some_paths,
        at=st.integers(0, 30),
        is_after=st.booleans(),
        is_lost=st.booleans(),
    )
    def fault(
        self, adds: list[str], removes: list[str], at: int, *, is_after: bool, is_lost: bool
    ) -> None:
        """The process dies, or an acknowledgement is lost, at some operation."""
        count = 0

        def disturb(_operation: str, path: str) -> None:
            nonlocal count
            count += 1
            if count == at:
                raise StoreFailedError(path=path, reason="lost") if is_lost else Crash

        client = self.store.sharing()
        if is_after:
            client.after = disturb
        else:
            client.before = disturb
        before = oracle.states(self.store.objects)[-1]
        entries = self.entries(adds)
        size = self.size
        try:
            StateWriter(client, settings=SETTINGS, sleep=lambda _: None).commit(entries, removes)
        except (Crash, StoreFailedError):
            if oracle.states(self.store.objects)[-1] == before:
                return
        self.apply(adds, removes, size=size)

    @rule()
    def compact(self) -> None:
        self.writer().compact()

    @rule()
    def clean(self) -> None:
        later = self.store.now_ms + 2 * 3_600_000
        clean(self.store, INDEXTABLES_HOME, settings=SETTINGS, dry_run=False, clock_ms=later)

    def apply(self, adds: list[str], removes: list[str], *, size: int | None = None) -> None:
        for path in removes:
            self.truth.pop(path, None)
        self.truth |= dict.fromkeys(adds, self.size if size is None else size)

    @invariant()
    def every_reader_sees_the_truth(self) -> None:
        if hasattr(self, "store"):
            assert oracle.read(self.store.objects).files == self.truth
            for version in oracle.states(self.store.objects):
                oracle.read(self.store.objects, version)


History.TestCase.settings = settings(
    max_examples=max(15, EXAMPLES // 8),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
test_any_history_leaves_exactly_the_files_of_a_dictionary = pytest.mark.property(History.TestCase)
