"""Run every interleaving of two writers, one store operation at a time.

The writers are real and run in threads; each waits before every operation until it is chosen. A
schedule is a list of choices. `explore` runs all schedules, depth first.

Operations on manifests commute: each is written once, under its own name. So do those on version
files, which these writers do not write, and on the hint, which is never trusted. By default, only
operations on states are points of choice; `HEADRACE_ALL_OPERATIONS` adds all others.
"""

import os
import threading
from collections.abc import Callable, Iterator

from headrace.storage.store import RequestCost
from tests.maintain.memory import MemoryStore

Writer = Callable[[MemoryStore], object]

_EVERY_OPERATION = bool(os.environ.get("HEADRACE_ALL_OPERATIONS"))


class _Turn:
    """One writer in its own thread, which waits for its turn before every operation."""

    def __init__(self, store: MemoryStore, writer: Writer) -> None:
        self.result: object = None
        self._go = threading.Semaphore(0)
        self._waits = threading.Semaphore(0)
        self.is_done = False
        client = store.sharing()
        client.before = self._pause
        client.request_cost = RequestCost.LOCAL  # one operation of a writer at a time
        self._thread = threading.Thread(target=self._run, args=(writer, client), daemon=True)
        self._thread.start()
        self._waits.acquire()

    def step(self) -> None:
        """Run one operation, and continue until the next."""
        self._go.release()
        self._waits.acquire()

    def _pause(self, _operation: str, path: str) -> None:
        if not _EVERY_OPERATION and not path.endswith("/_manifest.avro"):
            return
        self._waits.release()
        self._go.acquire()

    def _run(self, writer: Writer, client: MemoryStore) -> None:
        try:
            self.result = writer(client)
        except Exception as error:  # noqa: BLE001  (it is the result)
            self.result = error
        self.is_done = True
        self._waits.release()


def run_schedule(
    store: MemoryStore, writers: tuple[Writer, Writer], choices: list[int]
) -> tuple[list[int], list[object]]:
    """Run two writers; after the last choice, the first that can run continues."""
    turns = [_Turn(store, writer) for writer in writers]
    choices_made: list[int] = []
    while not all(turn.is_done for turn in turns):
        ready = [number for number, turn in enumerate(turns) if not turn.is_done]
        choice = choices[len(choices_made)] if len(choices_made) < len(choices) else ready[0]
        chosen = choice if choice in ready else ready[0]
        choices_made.append(chosen)
        turns[chosen].step()
    return choices_made, [turn.result for turn in turns]


def explore(
    make: Callable[[], MemoryStore], writers: tuple[Writer, Writer]
) -> Iterator[tuple[MemoryStore, list[int], list[object]]]:
    """Run all schedules; yield the store, the choices taken and the results of the writers."""
    prefix: list[int] | None = []
    while prefix is not None:
        store = make()
        choices_made, results = run_schedule(store, writers, prefix)
        yield store, choices_made, results
        prefix = _next(choices_made)


def _next(choices_made: list[int]) -> list[int] | None:
    """Return the next schedule: the last 0 becomes a 1 if the second writer can still run."""
    for at in range(len(choices_made) - 1, -1, -1):
        if choices_made[at] == 0 and 1 in choices_made[at:]:
            return [*choices_made[:at], 1]
    return None
