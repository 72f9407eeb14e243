"""Shows a pipeline run: one line per view, and progress bars on a terminal."""

from collections.abc import Mapping
from threading import Lock
from typing import Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from headrace.cli.console import Console
from headrace.metrics.counts import counted
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.runs.run_record import RunKind, RunRecord, ViewRun, ViewStatus

_MARKS = {
    ViewStatus.RAN: "[green]ran[/]",
    ViewStatus.SKIPPED: "[dim]skipped[/]",
    ViewStatus.INLINED: "[dim]inlined[/]",
    ViewStatus.FAILED: "[bold red]failed[/]",
    ViewStatus.BLOCKED: "[yellow]blocked[/]",
    ViewStatus.LEFT_OUT: "[dim]left out[/]",
    ViewStatus.CANCELLED: "[yellow]cancelled[/]",
}
_QUIET = frozenset({ViewStatus.INLINED, ViewStatus.LEFT_OUT})


class RunDisplay:
    """Prints each view when it ends, and draws running views as bars on a terminal."""

    def __init__(self, console: Console) -> None:
        """Draw on the given console."""
        self._console = console
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        """Print what the run will do."""
        running = sum(decision.action is Action.RUN for decision in decisions.values())
        self._console.print(
            f"[bold]{record.kind} {record.id}[/] on {record.engine}: "
            f"{running} of {len(decisions)} views to run"
        )

    def view_started(self, view: str) -> None:
        """Add the bar of a view."""
        with self._lock:
            self._tasks[view] = self._bars.add_task(view, total=None, note="")

    def tasks_counted(self, view: str, *, done: int, known: int) -> None:
        """Update the bar of a view."""
        with self._lock:
            if view in self._tasks and known:
                self._bars.update(
                    self._tasks[view], completed=done, total=known, note=f"{done}/{known} tasks"
                )

    def view_finished(self, view: ViewRun) -> None:
        """Replace the bar of a view by a line."""
        with self._lock:
            if view.view in self._tasks:
                self._bars.remove_task(self._tasks.pop(view.view))
        if view.status in _QUIET:
            return
        self._console.print(f"  {_MARKS[view.status]}  [bold]{view.view}[/]", end="")
        parts = []
        if view.rows is not None and view.status is ViewStatus.RAN:
            parts.append(counted(view.rows, "row"))
        if view.started_ms:
            parts.append(f"{view.duration_ms / 1000:.1f} s")
        line = "  ".join(filter(None, (", ".join(parts), view.reason.splitlines()[0])))
        self._console.print(f"  {line}", markup=False, soft_wrap=True)

    def run_finished(self, record: RunRecord) -> None:
        """Print a summary."""
        counts = [f"{record.count(s)} {s}" for s in ViewStatus if record.count(s)]
        took = (record.duration_ms or 0) / 1000
        self._console.print(f"[bold]{record.status}[/] in {took:.1f} s: {', '.join(counts)}")
        computed = record.count(ViewStatus.RAN) + record.count(ViewStatus.FAILED)
        if record.kind is RunKind.VERIFICATION and not computed:
            self._console.print(
                f"nothing was verified: a run on {record.engine} would skip none of these views; "
                "`headrace run --dry-run` says why",
                soft_wrap=True,
            )


class _SilentDisplay(RunDisplay):
    """Shows nothing, for output that a program reads."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))


def progress_for(*, as_json: bool) -> RunDisplay:
    """Return the observer that shows a run; a silent one for JSON output."""
    return _SilentDisplay() if as_json else RunDisplay(Console(highlight=False))
