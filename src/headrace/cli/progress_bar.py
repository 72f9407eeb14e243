"""Progress bars on standard error, for a person who watches the terminal.

Nothing is drawn if there is no terminal.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

_REFRESH_S = 0.2


class Work(NamedTuple):
    """How much is done, of how much if that is known, and what is counted."""

    done: int
    total: int | None
    unit: str


@contextmanager
def show_progress(title: str, files_read: Callable[[], int]) -> Iterator[None]:
    """Show how many files have been read while the body of the `with` block reads them.

    Nothing is drawn if the output itself is on the terminal.
    """
    if sys.stdout.isatty():
        yield
        return
    with show_work(title, lambda: Work(files_read(), None, "files")):
        yield


@contextmanager
def show_work(title: str, work: Callable[[], Work]) -> Iterator[None]:
    """Show what `work` returns, several times a second, while the body of the `with` block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from headrace.terminal.progress_bar import ProgressBar  # noqa: PLC0415  (it takes long to import)

    finished = threading.Event()
    with ProgressBar(title) as bar:

        def refresh() -> None:
            while not finished.wait(_REFRESH_S):
                current = work()
                bar.update(current.done, total=current.total, note=current.unit)

        refresher = threading.Thread(target=refresh, name="headrace-bar", daemon=True)
        refresher.start()
        try:
            yield
        finally:
            finished.set()
            refresher.join()
