"""A progress bar for output that goes to a file or a pipe while a person watches the terminal.

Nothing is drawn if the output itself is on the terminal, or if there is no terminal.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_REFRESH_S = 0.2


@contextmanager
def show_progress(title: str, files_read: Callable[[], int]) -> Iterator[None]:
    """Show how many files have been read while the body of the `with` block reads them."""
    if sys.stdout.isatty() or not sys.stderr.isatty():
        yield
        return
    from headrace.metrics.progress import ProgressBar  # noqa: PLC0415  (it takes long to import)

    finished = threading.Event()
    with ProgressBar(title) as bar:

        def refresh() -> None:
            while not finished.wait(_REFRESH_S):
                bar.update(files_read(), note="files")

        refresher = threading.Thread(target=refresh, name="headrace-bar", daemon=True)
        refresher.start()
        try:
            yield
        finally:
            finished.set()
            refresher.join()
