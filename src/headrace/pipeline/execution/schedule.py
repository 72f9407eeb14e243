"""The graph, run: views side by side where nothing stands between them.

A view starts when all that it waits for has ended well. One that fails stops those that wait for
it, and theirs, and nobody else.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.2


def run_graph(  # noqa: PLR0913  (the graph, and what to do at each turn)
    waits_for: Mapping[str, Collection[str]],
    *,
    at_once: int,
    work: Callable[[str], T],
    is_good: Callable[[T], bool],
    blocked: Callable[[str, str], T],
    poll: Callable[[Collection[str]], None],
    cancel: Callable[[], None],
) -> dict[str, T]:
    """Work through a graph; an exception of `work` or Ctrl-C ends it when all that runs has ended.

    Args:
        waits_for: By view, in order: the views that must have ended well before it starts.
        at_once: How many views run side by side.
        work: Runs a view, in a thread.
        is_good: Whether a result lets the views that wait for it start.
        blocked: The result of a view that cannot start, and what it waited for.
        poll: Called now and then with the views that are running.
        cancel: Makes the views that are running end soon; called if something goes wrong.
    """
    results: dict[str, T] = {}
    waiting = dict(waits_for)
    running: dict[Future[T], str] = {}
    with ThreadPoolExecutor(at_once, thread_name_prefix="headrace-view") as pool:
        try:
            while waiting or running:
                _start_ready(pool, waiting, running, results, (at_once, work, is_good, blocked))
                if not running:
                    continue
                ended, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                for future in ended:
                    results[running.pop(future)] = future.result()
                poll(list(running.values()))
        except BaseException:  # Ctrl-C too: the threads are waited for, so they must end
            pool.shutdown(wait=False, cancel_futures=True)
            cancel()
            raise
    return results


def _start_ready(
    pool: ThreadPoolExecutor,
    waiting: dict[str, Collection[str]],
    running: dict[Future[T], str],
    results: dict[str, T],
    rules: tuple[int, Callable[[str], T], Callable[[T], bool], Callable[[str, str], T]],
) -> None:
    at_once, work, is_good, blocked = rules
    for view, needs in list(waiting.items()):
        bad = [need for need in needs if need in results and not is_good(results[need])]
        if bad:
            results[view] = blocked(view, bad[0])
            del waiting[view]
        elif len(running) < at_once and all(need in results for need in needs):
            running[pool.submit(work, view)] = view
            del waiting[view]
