"""The order in which views are planned and run; it is always the same.

A view follows all views that it reads; of the views that are ready, the first by name is next.
"""

import heapq
from collections.abc import Mapping, Sequence

from headrace.errors import ViewCycleError


def topological_order(reads: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Order views so that each follows the views that it reads.

    Args:
        reads: What each view reads; names that are not views are sources and are ignored.

    Raises:
        ViewCycleError: there is no such order; the error names a cycle.
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
        raise ViewCycleError(path=_cycle(reads, set(reads) - set(order)))
    return tuple(order)


def descendants(reads: Mapping[str, Sequence[str]], views: Sequence[str]) -> frozenset[str]:
    """Return all views that read one of `views`, directly or indirectly."""
    affected = set(views)
    for view in topological_order(reads):
        if affected.intersection(reads[view]):
            affected.add(view)
    return frozenset(affected - set(views))


def _views(reads: Mapping[str, Sequence[str]], view: str) -> set[str]:
    return {name for name in reads[view] if name in reads}


def _cycle(reads: Mapping[str, Sequence[str]], stuck: set[str]) -> list[str]:
    """Return a cycle: walk upstream among the views that never became ready until one repeats."""
    path = [min(stuck)]
    while True:
        step = min(_views(reads, path[-1]) & stuck)
        if step in path:
            cycle = [*path[path.index(step) :], step]
            least = cycle.index(min(cycle))
            return [*cycle[least:-1], *cycle[:least], cycle[least]]
        path.append(step)
