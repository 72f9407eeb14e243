"""Which views may start: each as soon as all that it waits for stands.

A view that fails blocks those that wait for it, and theirs, and no other.
"""

from collections.abc import Collection, Iterator, Mapping


class Schedule:
    """The views of a run that have yet to start, or to end."""

    def __init__(self, waits_for: Mapping[str, Collection[str]]) -> None:
        """Take the views in order, each with those that must stand before it starts."""
        self._waits_for = {view: set(needs) for view, needs in waits_for.items()}
        self._waiting = dict.fromkeys(waits_for)
        self._running: set[str] = set()

    @property
    def is_done(self) -> bool:
        """Whether no view waits or runs."""
        return not self._waiting and not self._running

    def ready(self, *, at_most: int) -> Iterator[str]:
        """The next views that may start, in order; each counts as running from then on."""
        for view in list(self._waiting):
            if len(self._running) >= at_most:
                return
            if not self._waits_for[view]:
                del self._waiting[view]
                self._running.add(view)
                yield view

    def finish(self, view: str, *, stands: bool) -> list[tuple[str, str]]:
        """A view has ended; returns the views that can no longer start, each with what failed."""
        self._running.discard(view)
        blocked = []
        for other in list(self._waiting):
            needs = self._waits_for[other]
            if view not in needs:
                continue
            if stands:
                needs.discard(view)
            else:
                del self._waiting[other]
                blocked += [(other, view), *self.finish(other, stands=False)]
        return blocked
