"""Schedules views: each can start once all views that it depends on have a result.

A view that fails blocks its direct and indirect dependents, and no other view.
"""

from collections.abc import Collection, Iterator, Mapping


class Schedule:
    """The views of a run that have not finished."""

    def __init__(self, waits_for: Mapping[str, Collection[str]]) -> None:
        """Take the views in order, each with the views that must have a result before it starts."""
        self._waits_for = {view: set(needs) for view, needs in waits_for.items()}
        self._waiting = dict.fromkeys(waits_for)
        self._running: set[str] = set()

    @property
    def is_done(self) -> bool:
        """Whether no view is waiting or running."""
        return not self._waiting and not self._running

    def ready(self, *, at_most: int) -> Iterator[str]:
        """Yield the next views that can start, in order; each counts as running from then on."""
        for view in list(self._waiting):
            if len(self._running) >= at_most:
                return
            if not self._waits_for[view]:
                del self._waiting[view]
                self._running.add(view)
                yield view

    def finish(self, view: str, *, has_result: bool) -> list[tuple[str, str]]:
        """Mark a view as finished; return the views that it blocks, each with what blocks it."""
        self._running.discard(view)
        blocked = []
        for dependent in list(self._waiting):
            needs = self._waits_for[dependent]
            if view not in needs:
                continue
            if has_result:
                needs.discard(view)
            else:
                del self._waiting[dependent]
                blocked += [(dependent, view), *self.finish(dependent, has_result=False)]
        return blocked
