"""A seen set that spills to disk answers like one that does not, and leaves no files."""

import gc
import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    rule,
    run_state_machine_as_test,
)

from headrace.errors import SpillFailedError
from headrace.protocol.key import FileKey, key_of
from headrace.replay import spill
from headrace.replay.bloom import BloomFilter
from headrace.replay.packed_key import join, pack, pack_all, pack_keys_of, split, unpack
from headrace.replay.seen import FrozenSeenSet, SeenSet
from headrace.replay.spill import Spill
from tests.effort import examples
from tests.lake.key import files_of

paths = st.one_of(
    st.sampled_from(["", "a", "b", "c", "é", "\udcc3\udca9", "a\0", "x" * 300]),
    st.integers(0, 60).map(lambda number: f"part-{number:05}-c000.snappy.parquet"),
    st.text(max_size=3),
)
keys = st.builds(FileKey, paths, st.sampled_from([None, None, "", "u1", "u1@4"]))
limits = st.sampled_from([0, 1, 200, 700, 3_000, 1 << 20])


class Naive:
    """The semantics of the seen set, in the simplest code."""

    def __init__(self, hidden: set[FileKey]) -> None:
        self.hidden = hidden
        self.current: set[FileKey] = set()
        self.source: str | None = None

    def admit(self, source: str, adds: list[FileKey], removes: list[FileKey]) -> list[bool]:
        if source != self.source:
            self.hidden, self.current, self.source = self.hidden | self.current, set(), source
        for key in adds + removes:
            if key in self.current:
                raise ValueError(key.path)
            self.current.add(key)
        return [key not in self.hidden for key in adds]

    def without(self, source: str) -> "Naive":
        return Naive(self.hidden if source == self.source else self.hidden | self.current)


class Histories(RuleBasedStateMachine):
    """Live sets are filled, partly forgotten, frozen and thawed, in any order."""

    live: Bundle[tuple[SeenSet, Naive]] = Bundle("live")
    frozen: Bundle[tuple[FrozenSeenSet, set[FileKey]]] = Bundle("frozen")

    @rule(target=live, start=st.lists(keys, max_size=8), limit=limits)
    def begin(self, start: list[FileKey], limit: int) -> tuple[SeenSet, Naive]:
        return SeenSet(start, memory_limit_bytes=limit), Naive(set(start))

    @rule(
        target=live,
        pair=consumes(live),
        source=st.sampled_from("12"),
        adds=st.lists(keys, max_size=12),
        removes=st.lists(keys, max_size=12),
    )
    def admit(
        self,
        pair: tuple[SeenSet, Naive],
        source: str,
        adds: list[FileKey],
        removes: list[FileKey],
    ) -> tuple[SeenSet, Naive]:
        seen, naive = pair
        try:
            expected = naive.admit(source, adds, removes)
        except ValueError:
            with pytest.raises(ValueError, match="twice"):
                seen.admit(source, adds=files_of(adds), removes=files_of(removes))
            return seen.without(source), naive.without(source)
        assert seen.admit(source, adds=files_of(adds), removes=iter(files_of(removes))) == expected
        assert len(seen) == len(naive.hidden | naive.current)
        return pair

    @rule(target=live, pair=live, source=st.sampled_from("12"))
    def forget(self, pair: tuple[SeenSet, Naive], source: str) -> tuple[SeenSet, Naive]:
        seen, naive = pair
        return seen.without(source), naive.without(source)

    @rule(target=frozen, pair=live)
    def freeze(self, pair: tuple[SeenSet, Naive]) -> tuple[FrozenSeenSet, set[FileKey]]:
        seen, naive = pair
        return seen.freeze(), naive.hidden | naive.current

    @rule(
        target=frozen,
        pair=live,
        sources=st.lists(st.tuples(st.sampled_from("12"), keys), max_size=3),
    )
    def freeze_and_go_on(
        self, pair: tuple[SeenSet, Naive], sources: list[tuple[str, FileKey]]
    ) -> tuple[FrozenSeenSet, set[FileKey]]:
        seen, naive = pair
        frozen, content = seen.freeze(), naive.hidden | naive.current
        for source, key in sources:
            if source != naive.source or key not in naive.current:
                expected = naive.admit(source, [key], [])
                assert seen.admit(source, adds=files_of([key]), removes=[]) == expected
        assert sorted(map(repr, frozen)) == sorted(map(repr, content))
        return frozen, content

    @rule(target=live, pair=frozen)
    def thaw(self, pair: tuple[FrozenSeenSet, set[FileKey]]) -> tuple[SeenSet, Naive]:
        frozen, content = pair
        return frozen.thaw(), Naive(set(content))

    @rule(target=frozen, pair=frozen)
    def ship(self, pair: tuple[FrozenSeenSet, set[FileKey]]) -> tuple[FrozenSeenSet, set[FileKey]]:
        frozen, content = pair
        return pickle.loads(pickle.dumps(frozen)), content

    @rule(pair=frozen, probed=st.lists(keys, max_size=20))
    def probe(self, pair: tuple[FrozenSeenSet, set[FileKey]], probed: list[FileKey]) -> None:
        frozen, content = pair
        probed = probed + list(content)
        expected = [key in content for key in probed]
        assert frozen.contains_many(probed) == expected
        assert [key in frozen for key in probed] == expected
        assert sorted(map(repr, frozen)) == sorted(map(repr, content))
        assert len(frozen) == len(content)


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.property
def test_any_history_equals_the_naive_one_and_leaves_no_files(
    temporary_folder: Path,
) -> None:
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=examples(100), stateful_step_count=30)
    )
    gc.collect()
    assert list(temporary_folder.iterdir()) == []


@pytest.mark.property
@given(st.lists(keys, min_size=1))
def test_packed_keys_come_back_as_they_were(many: list[FileKey]) -> None:
    packed = pack_all(many)
    assert packed == list(map(pack, many))
    assert list(map(unpack, split(join(packed)))) == many
    assert len(set(packed)) == len(set(many))


@pytest.mark.property
@given(
    st.lists(
        st.builds(
            FileKey,
            st.one_of(paths, st.sampled_from(["a%41", "%C3", "a:b", "file:/x", "file:///x"])),
            st.sampled_from([None, None, "u1"]),
        )
    )
)
def test_files_are_packed_as_their_keys_are(many: list[FileKey]) -> None:
    files = [
        msgspec.structs.replace(file, path=key.path)
        for file, key in zip(files_of(many), many, strict=True)
    ]
    assert pack_keys_of(files) == [pack(key_of(file)) for file in files]


@pytest.mark.property
@given(st.lists(st.binary(max_size=8)), st.integers(0, 100))
def test_a_filter_of_any_size_accepts_every_added_key(added: list[bytes], size_bytes: int) -> None:
    bloom = BloomFilter(size_bytes)
    bloom.add(added)
    assert bloom.candidates(added) == added
    assert bloom.size_bytes <= max(size_bytes, 8)


def numbered(count: int) -> list[bytes]:
    return [b"%06d" % number for number in range(count)]


def test_a_filter_rejects_most_other_keys() -> None:
    bloom = BloomFilter(4096)
    bloom.add(numbered(2048))
    assert len(bloom.candidates(key + b"!" for key in numbered(2048))) < 200


@pytest.mark.parametrize("filter_bytes", [0, 1 << 16])
def test_keys_that_the_filter_accepts_are_decided_by_the_disk(filter_bytes: int) -> None:
    spill = Spill(filter_bytes=filter_bytes)
    assert [spill.add(numbered(3000)[::2]), spill.add([b""])] == [0, 1]
    assert spill.find([b"", *numbered(3000)]) == {b"": 1, **dict.fromkeys(numbered(3000)[::2], 0)}
    assert [key for key, _ in spill.scan()] == [b"", *numbered(3000)[::2]]


def named(count: int) -> list[FileKey]:
    return [FileKey(f"part-{number:05}.parquet") for number in range(count)]


def test_keys_go_to_disk_only_beyond_the_limit_and_are_counted() -> None:
    small, large = SeenSet(memory_limit_bytes=10_000), SeenSet()
    for seen in (small, large):
        for number, key in enumerate(named(200)):
            seen.admit(str(number), adds=files_of([key]), removes=[])
    assert large.spilled_keys == 0
    assert 100 < small.spilled_keys <= len(small) == 200
    assert small.freeze().thaw().spilled_keys == 0


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_a_frozen_set_does_not_change_whether_its_origin_is_on_disk_or_not(limit: int) -> None:
    seen = SeenSet(memory_limit_bytes=limit)
    seen.admit("2", adds=files_of(named(2)), removes=[])
    frozen = seen.freeze()
    for source, key in zip("211", named(5)[2:], strict=True):
        seen.admit(source, adds=files_of([key]), removes=[])
    assert (len(frozen), sorted(key.path for key in frozen)) == (2, [k.path for k in named(2)])
    assert frozen.contains_many(named(5)) == [True, True, False, False, False]


def test_a_source_that_outgrew_its_memory_is_removed_completely() -> None:
    seen = SeenSet(named(3), memory_limit_bytes=500)
    seen.admit("1", adds=files_of(named(50)), removes=files_of([FileKey("removed")]))
    assert seen.spilled_keys > 40
    again = seen.without("1")
    assert len(again) == 3
    assert again.admit("0", adds=files_of(named(5)), removes=[]) == [False] * 3 + [True] * 2


def test_a_duplicate_key_is_detected_on_disk_too() -> None:
    seen = SeenSet(named(1), memory_limit_bytes=0)
    for hidden_or_fresh in (FileKey("new"), *named(1)):
        seen.admit(hidden_or_fresh.path, adds=files_of([hidden_or_fresh]), removes=[])
        with pytest.raises(ValueError, match="twice"):
            seen.admit(hidden_or_fresh.path, adds=[], removes=files_of([hidden_or_fresh]))


def test_several_threads_may_query_a_set_on_disk() -> None:
    frozen = SeenSet(named(2000), memory_limit_bytes=0).freeze()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: frozen.contains_many(named(4000)), range(8)))
    assert answers == [[True] * 2000 + [False] * 2000] * 8


def test_a_full_disk_is_a_typed_error_and_ends_the_set(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "_SETTINGS", (*spill._SETTINGS, "max_page_count = 8"))
    seen = SeenSet(memory_limit_bytes=50_000)
    with pytest.raises(SpillFailedError, match="full"):
        seen.admit("1", adds=files_of(named(5000)), removes=[])
    with pytest.raises(SpillFailedError):
        seen.admit("1", adds=files_of([FileKey("other")]), removes=[])
    with pytest.raises(SpillFailedError):
        list(seen.freeze())
    assert list(temporary_folder.iterdir()) == []


def test_a_missing_temporary_folder_is_a_typed_error(
    temporary_folder: Path,
) -> None:
    temporary_folder.rmdir()
    with pytest.raises(SpillFailedError, match="TMPDIR"):
        SeenSet(named(1), memory_limit_bytes=0)


class Interrupted(list[bytes]):
    def __iter__(self) -> Iterator[bytes]:
        yield from super().__iter__()
        raise KeyboardInterrupt


def test_a_round_that_is_interrupted_ends_the_spill() -> None:
    spill = Spill(filter_bytes=8)
    spill.add([b"a"])
    with pytest.raises(KeyboardInterrupt):
        spill.add(Interrupted([b"b"]))
    with pytest.raises(SpillFailedError):
        spill.find([b"a"])


def test_a_file_that_must_keep_its_name_is_deleted_with_the_last_set(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [s.replace("journal_mode = OFF", "journal_mode = MEMORY") for s in spill._SETTINGS]
    monkeypatch.setattr(spill, "_SETTINGS", settings)
    seen = SeenSet(named(1), memory_limit_bytes=0)
    frozen = seen.freeze()
    del seen
    assert len(list(temporary_folder.iterdir())) == 1
    assert named(1)[0] in frozen
    del frozen
    assert list(temporary_folder.iterdir()) == []
