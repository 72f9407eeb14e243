"""Work in several threads, results as they come, never far ahead of who takes them."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Generic, TypeVar

from headrace.engines.background import Background

U = TypeVar("U")
R = TypeVar("R")

_RESULTS_AHEAD = 1
"""How many results a thread may have ready before it waits: more take memory and save no time."""


def in_parallel(
    work: Callable[[Iterator[U]], Iterator[R]], units: Iterable[U], *, threads: int
) -> Iterator[R]:
    """The results of some units, in any order. Each thread works on those that it gets hold of.

    With one thread everything happens in the caller's own, lazily. Closing the iterator stops
    the threads at their next result; an error in one of them is raised here.
    """
    if threads <= 1:
        yield from work(iter(units))
        return
    pool = _Pool(work, units, threads=threads)
    try:
        yield from pool.results()
    finally:
        pool.stop()


class _Finished:
    """A thread has run out of work."""


class _Failed:
    """A thread met an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Pool(Generic[U, R]):
    """Threads that share one queue of units and fill one bounded queue of results."""

    def __init__(
        self, work: Callable[[Iterator[U]], Iterator[R]], units: Iterable[U], *, threads: int
    ) -> None:
        self._work = work
        self._units = iter(units)
        self._units_lock = threading.Lock()
        self._stopping = threading.Event()
        self._results: queue.Queue[R | _Finished | _Failed] = queue.Queue(_RESULTS_AHEAD * threads)
        self._workers = [Background(self._run, name=f"headrace-leaf-{n}") for n in range(threads)]

    def results(self) -> Iterator[R]:
        """What the threads make, until all of them have finished."""
        for worker in self._workers:
            worker.start()
        running = len(self._workers)
        while running:
            result = self._results.get()
            if isinstance(result, _Finished):
                running -= 1
            elif isinstance(result, _Failed):
                raise result.error
            else:
                yield result

    def stop(self) -> None:
        """Tell the threads to stop, and wait until they have let go of their files."""
        self._stopping.set()
        while not all(worker.is_over() for worker in self._workers):
            with suppress(queue.Empty):  # a thread may be waiting for room
                self._results.get(timeout=0.01)
        for worker in self._workers:
            worker.wait()

    def _run(self) -> None:
        try:
            with closing(self._work(self._own_units())) as results:  # type: ignore[type-var]
                for result in results:
                    self._results.put(result)
                    if self._stopping.is_set():
                        break
        except BaseException as error:  # noqa: BLE001  (whatever it is, the caller must hear it)
            self._results.put(_Failed(error))
        else:
            self._results.put(_Finished())

    def _own_units(self) -> Iterator[U]:
        """The units that a thread takes, one after the other, until there are no more."""
        while not self._stopping.is_set():
            with self._units_lock:
                unit = next(self._units, _Finished)
            if unit is _Finished:
                return
            yield unit  # type: ignore[misc]
