"""Records of made-up runs."""

from headrace.pipeline import RunKind, RunRecord, RunStatus, ViewRun, ViewStatus

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def run_of(number: int, *, kind: RunKind = RunKind.RUN, bundle: str = "b") -> RunRecord:
    return RunRecord(
        id=f"run-{number:05}",
        kind=kind,
        project="shop",
        bundle=bundle,
        engine="datafusion",
        status=RunStatus.SUCCEEDED,
        started_ms=START_MS + number * HOUR_MS,
        finished_ms=START_MS + number * HOUR_MS + 1,
    )


def view_of(name: str, status: ViewStatus, *, key: str = "") -> ViewRun:
    return ViewRun(view=name, status=status, reason="because", skip_key=key)
