"""A progress bar for long work, drawn only on an interactive terminal.

A title and counts enter, from the thread that works or from one that watches it.
"""

import sys
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class ProgressBar:
    """Shows the progress of some work on a terminal, and disappears when it is done.

    with ProgressBar("reading files") as bar:
        for number, file in enumerate(files):
            bar.update(number, total=len(files))
    """

    def __init__(self, title: str, *, console: Console | None = None) -> None:
        """Create the bar; by default it is drawn on standard error if that is a terminal."""
        console = console or Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            # Redirect standard output only if it shares the terminal with the bar.
            redirect_stdout=sys.stdout.isatty(),
            disable=not console.is_interactive,
        )
        self._task = self._progress.add_task(title, total=None, note="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._progress.stop()

    @property
    def is_shown(self) -> bool:
        """Whether the bar is visible; if not, progress need not be computed."""
        return not self._progress.disable

    def update(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """Set the progress; `total` may grow, or be unknown."""
        self._progress.update(self._task, completed=done, total=total, note=note)
