"""Runs a function that reads from a store for several items at the same time, if that helps."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from headrace.storage.store import RequestCost, Store

T = TypeVar("T")
R = TypeVar("R")


def read_each(read: Callable[[T], R], items: Iterable[T], *, store: Store, at_once: int) -> list[R]:
    """Return the results in order: one after the other, or concurrently if the store is remote."""
    waiting = list(items)
    threads = min(at_once, len(waiting))
    if threads <= 1 or store.request_cost is RequestCost.LOCAL:
        return [read(item) for item in waiting]
    with ThreadPoolExecutor(threads, thread_name_prefix="headrace-state") as pool:
        return list(pool.map(read, waiting))
