"""Reads the stories of views from the records of runs.

The newest records enter; one story per view leaves, for the page and its graph.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from headrace.pipeline.page.story import RunLine, Status, Story
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import RunKind, RunRecord, ViewRun, ViewStatus

_MAX_RUNS = 20
_STATUSES = {
    ViewStatus.RAN: Status.RAN,
    ViewStatus.SKIPPED: Status.SKIPPED,
    ViewStatus.INLINED: Status.IN_PLACE,
    ViewStatus.FAILED: Status.FAILED,
    ViewStatus.BLOCKED: Status.BLOCKED,
    ViewStatus.CANCELLED: Status.CANCELLED,
}
"""The status on the page. A view that was left out was not processed, so it has none."""


def read_stories(store: ArtifactStore) -> dict[str, Story]:
    """Return the story of each view over the latest runs."""
    runs = store.runs(limit=_MAX_RUNS)
    return {
        view: tell_story(zip(runs, history, strict=True))
        for view, history in store.histories(runs).items()
    }


def tell_story(history_newest_first: Iterable[tuple[RunRecord, ViewRun | None]]) -> Story:
    """Return the story of a view. Replays and verifications are listed but set no status."""
    processed = [
        (run, view)
        for run, view in history_newest_first
        if view is not None and view.status in _STATUSES
    ]
    lines = tuple(_line(run, view) for run, view in processed)
    for run, view in processed:
        if run.kind is RunKind.RUN:
            return Story(
                status=_STATUSES[view.status],
                why=_note(view),
                fallback=view.fallback or "",
                runs_newest_first=lines,
            )
    return Story(runs_newest_first=lines)


def _line(run: RunRecord, view: ViewRun) -> RunLine:
    replayed = "" if run.replay_of is None else f"replay of {run.replay_of}: "
    started = datetime.fromtimestamp(run.started_ms / 1000, tz=UTC)
    return RunLine(
        run=run.id,
        started=started.strftime("%Y-%m-%d %H:%M:%S"),
        outcome=_STATUSES[view.status],
        took=f"{view.duration_ms / 1000:.1f} s" if view.status is ViewStatus.RAN else "",
        rows="" if view.rows is None else f"{view.rows:,}",
        note=f"{replayed}{_note(view)}{_fallback(view)}",
    )


def _fallback(view: ViewRun) -> str:
    if view.fallback is None:
        return ""
    return f" (fallback: its SQL was run, not its stored plan: {view.fallback})"


def _note(view: ViewRun) -> str:
    return view.reason if view.failure is None else str(view.failure)
