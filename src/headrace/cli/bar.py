"""A bar while a long answer goes elsewhere: into a file or a pipe, with a person looking on.

Where the answer itself is on the terminal it tells how far it is, and where nobody looks on
nothing is drawn.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_EVERY_S = 0.2


@contextmanager
def reading_shown(title: str, files_read: Callable[[], int]) -> Iterator[None]:
    """Show how many files have been read, while something else reads them."""
    if sys.stdout.isatty() or not sys.stderr.isatty():
        yield
        return
    from headrace.metrics.progress import ProgressBar  # noqa: PLC0415  (it takes long to import)

    finished = threading.Event()
    with ProgressBar(title) as bar:

        def look() -> None:
            while not finished.wait(_LOOK_EVERY_S):
                bar.update(files_read(), note="files")

        watcher = threading.Thread(target=look, name="headrace-bar", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
