"""The order in which views are planned and run: one, and always the same.

Views come after all that they read; among those that could come next, the first by name does.
"""

import heapq
from collections.abc import Mapping, Sequence

from headrace.errors import ViewCycleError


def topological_order(reads: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Order views so that each stands behind the views it reads.

    Args:
        reads: By view, what it reads; names that are no views are sources and do not count.

    Raises:
        ViewCycleError: there is no such order; it names a circle.
    """
    waiting_for = {view: len(_views(reads, view)) for view in reads}
    read_by: dict[str, list[str]] = {view: [] for view in reads}
    for view in reads:
        for upstream in _views(reads, view):
            read_by[upstream].append(view)
    ready = [view for view, count in waiting_for.items() if not count]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        view = heapq.heappop(ready)
        order.append(view)
        for reader in read_by[view]:
            waiting_for[reader] -= 1
            if not waiting_for[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(reads):
        raise ViewCycleError(path=_circle(reads, set(reads) - set(order)))
    return tuple(order)


def descendants(reads: Mapping[str, Sequence[str]], views: Sequence[str]) -> frozenset[str]:
    """All views that read one of `views`, or read a view that does."""
    found = set(views)
    for view in topological_order(reads):
        if found.intersection(reads[view]):
            found.add(view)
    return frozenset(found - set(views))


def _views(reads: Mapping[str, Sequence[str]], view: str) -> set[str]:
    return {name for name in reads[view] if name in reads}


def _circle(reads: Mapping[str, Sequence[str]], stuck: set[str]) -> list[str]:
    """Walk upstream among the views that never became ready until one comes up again."""
    path = [min(stuck)]
    while True:
        step = min(_views(reads, path[-1]) & stuck)
        if step in path:
            circle = [*path[path.index(step) :], step]
            least = circle.index(min(circle))
            return [*circle[least:-1], *circle[:least], circle[least]]
        path.append(step)
