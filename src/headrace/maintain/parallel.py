"""Runs a function that reads from a store for several items at the same time, if that helps."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from headrace.engines.producer import in_order
from headrace.storage.store import RequestCost, Store

T = TypeVar("T")
R = TypeVar("R")


def read_each(read: Callable[[T], R], items: Iterable[T], *, store: Store, at_once: int) -> list[R]:
    """Return the results in order: one after the other, or concurrently if the store is remote."""
    waiting = list(items)
    threads = 1 if store.request_cost is RequestCost.LOCAL else min(at_once, len(waiting))
    return list(in_order(read, waiting, threads=threads, name="headrace-state"))
