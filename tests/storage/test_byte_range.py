from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ObjectTooShortError
from headrace.storage.byte_range import ByteRange, Coalescing, coalesce, split
from headrace.storage.local import LocalStore
from headrace.storage.store import RequestCost
from tests.storage.faulty import MemoryStore

DATA = bytes(range(256)) * 4

ranges = st.lists(
    st.builds(ByteRange, st.integers(0, 900), st.integers(0, 100)),
    max_size=12,
)
rules = st.builds(Coalescing, gap_bytes=st.integers(0, 64), largest_bytes=st.integers(1, 400))


@given(ranges, rules)
@pytest.mark.property
def test_requests_cover_every_range_once_and_none_is_too_large(
    requested: list[ByteRange], rule: Coalescing
) -> None:
    requests = coalesce(requested, rule)
    contents = [DATA[request.start : request.stop] for request in requests]
    assert [bytes(part) for part in split(requested, requests, contents)] == [
        DATA[part.start : part.stop] for part in requested
    ]
    assert all(0 < request.length <= rule.largest_bytes for request in requests)
    assert all(a.stop <= b.start for a, b in pairwise(requests))


def test_near_ranges_are_one_request_and_far_ones_two() -> None:
    rule = Coalescing(gap_bytes=10, largest_bytes=1000)
    near, far = [ByteRange(0, 5), ByteRange(15, 5)], [ByteRange(0, 5), ByteRange(16, 5)]
    assert coalesce(near, rule) == [ByteRange(0, 20)]
    assert coalesce(far, rule) == far


def test_a_large_range_is_fetched_in_parts_of_equal_size() -> None:
    rule = Coalescing(gap_bytes=0, largest_bytes=4)
    assert coalesce([ByteRange(1, 9)], rule) == [ByteRange(1, 3), ByteRange(4, 3), ByteRange(7, 3)]


@pytest.mark.parametrize("cost", list(RequestCost))
def test_every_store_returns_ranges_in_the_requested_order(
    cost: RequestCost, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ranges")
    (folder / "a").write_bytes(DATA)
    is_local = cost is RequestCost.LOCAL
    store = LocalStore(str(folder)) if is_local else MemoryStore({"a": DATA})
    ranges = [ByteRange(700, 20), ByteRange(3, 5), ByteRange(9, 0)]
    assert [bytes(part) for part in store.read_ranges("a", ranges)] == [
        DATA[700:720],
        DATA[3:8],
        b"",
    ]
    assert store.read_tail("a", size_bytes_wanted=10)[:2] == (DATA[-10:], len(DATA))
    assert store.read_tail("a", size_bytes_wanted=10_000)[:2] == (DATA, len(DATA))
    assert store.head("a").size_bytes == len(DATA)
    with pytest.raises(ObjectTooShortError):
        store.read_ranges("a", [ByteRange(1000, 100)])
