"""A cache stays within its size limit, and evicts the least recently used values."""

import pickle

from headrace.storage.cache import BoundedCache


def filled(limit_bytes: int, *, at_least: int = 0) -> BoundedCache[str, str]:
    """Return a cache of three values of ten bytes each; the oldest was used most recently."""
    cache: BoundedCache[str, str] = BoundedCache(limit_bytes, at_least=at_least)
    for name in "abc":
        cache.put(name, name.upper(), size_bytes=10)
        cache.get("a")
    return cache


def kept(cache: BoundedCache[str, str]) -> set[str]:
    return {name for name in "abcd" if cache.get(name) is not None}


def test_everything_is_kept_while_it_fits() -> None:
    cache = filled(30)
    assert kept(cache) == {"a", "b", "c"}
    assert (len(cache), cache.size_bytes) == (3, 30)


def test_the_least_recently_used_value_is_evicted_first() -> None:
    cache = filled(30)
    cache.put("d", "D", size_bytes=10)
    assert kept(cache) == {"a", "c", "d"}


def test_a_large_value_evicts_several() -> None:
    cache = filled(30)
    cache.put("d", "D", size_bytes=20)
    assert kept(cache) == {"a", "d"}
    assert cache.size_bytes == 30


def test_a_value_larger_than_the_cache_is_not_kept() -> None:
    cache = filled(30)
    cache.put("d", "D", size_bytes=31)
    assert (kept(cache), cache.size_bytes) == (set(), 0)


def test_the_most_recently_used_values_are_kept() -> None:
    cache = filled(0, at_least=2)
    assert kept(cache) == {"a", "c"}


def test_a_value_is_replaced() -> None:
    cache = filled(30)
    cache.put("a", "other", size_bytes=5)
    assert cache.get("a") == "other"
    assert cache.size_bytes == 25


def test_clearing_leaves_nothing() -> None:
    cache = filled(30)
    cache.clear()
    assert (kept(cache), len(cache), cache.size_bytes) == (set(), 0, 0)


def test_a_cache_is_empty_in_another_process() -> None:
    cache = pickle.loads(pickle.dumps(filled(30, at_least=1)))
    assert (len(cache), cache.limit_bytes) == (0, 30)
