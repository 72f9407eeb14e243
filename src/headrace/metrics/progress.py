"""A bar for work that takes long: drawn where a person looks on, and nothing anywhere else."""

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
    """How far some work is, on a terminal; it is gone when the work is done.

    with ProgressBar("reading files") as bar:
        for number, file in enumerate(files):
            bar.update(number, total=len(files))
    """

    def __init__(self, title: str, *, console: Console | None = None) -> None:
        """Name the work; by default it is shown on standard error, if that is a terminal."""
        shown_on = console or Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=shown_on,
            transient=True,
            # What is printed beside the bar stays where it goes, unless that is the same terminal.
            redirect_stdout=sys.stdout.isatty(),
            disable=not shown_on.is_interactive,
        )
        self._task = self._progress.add_task(title, total=None, note="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._progress.stop()

    @property
    def is_shown(self) -> bool:
        """Whether anybody sees it: otherwise there is no need to ask how far the work is."""
        return not self._progress.disable

    def update(self, done: int, *, total: int | None = None, note: str = "") -> None:
        """Tell how far the work is; `total` may grow, or be unknown."""
        self._progress.update(self._task, completed=done, total=total, note=note)
