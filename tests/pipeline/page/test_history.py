from pathlib import Path

from headrace.pipeline.page.story import Status
from headrace.pipeline.page.story_reader import read_stories, tell_story
from headrace.pipeline.runs.artifact_store import ArtifactStore
from headrace.pipeline.runs.run_record import (
    Failure,
    RunKind,
    RunRecord,
    RunStatus,
    ViewRun,
    ViewStatus,
)

DAY_MS = 86_400_000


def run_of(number: int, kind: RunKind = RunKind.RUN) -> RunRecord:
    return RunRecord(
        id=f"run-{number}",
        kind=kind,
        project="shop",
        bundle="b",
        engine="spark",
        status=RunStatus.SUCCEEDED,
        started_ms=number * DAY_MS,
        replay_of="run-1" if kind is RunKind.REPLAY else None,
    )


def view_run(status: ViewStatus, reason: str = "because") -> ViewRun:
    return ViewRun(view="sales", status=status, reason=reason, duration_ms=1500)


def test_the_newest_run_gives_the_status_of_a_view() -> None:
    story = tell_story(
        [
            (run_of(2), view_run(ViewStatus.SKIPPED, "nothing changed")),
            (run_of(1), view_run(ViewStatus.RAN)),
        ]
    )
    assert (story.status, story.why) == (Status.SKIPPED, "nothing changed")
    assert [line.run for line in story.runs_newest_first] == ["run-2", "run-1"]


def test_a_replay_is_listed_and_changes_nothing() -> None:
    story = tell_story(
        [
            (run_of(2, RunKind.REPLAY), view_run(ViewStatus.RAN, "the same")),
            (run_of(1), view_run(ViewStatus.FAILED)),
        ]
    )
    assert story.status is Status.FAILED
    assert story.runs_newest_first[0].note == "replay of run-1: the same"


def test_a_run_that_left_a_view_out_is_not_in_its_story() -> None:
    history = [(run_of(2), view_run(ViewStatus.LEFT_OUT)), (run_of(1), view_run(ViewStatus.RAN))]
    assert tell_story(history).status is Status.RAN


def test_a_view_without_a_run_has_never_run() -> None:
    assert tell_story([(run_of(1), None)]).status is Status.NEVER_RUN


def test_a_failure_is_shown_with_code_and_text() -> None:
    failure = Failure(code="SOME_CODE", text="it broke")
    view = ViewRun(view="sales", status=ViewStatus.FAILED, reason="it failed", failure=failure)
    assert tell_story([(run_of(1), view)]).why == "SOME_CODE: it broke"


def test_stories_are_read_from_the_store_over_several_days(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    for number, status in enumerate((ViewStatus.RAN, ViewStatus.SKIPPED), start=1):
        run = run_of(number)
        store.add_run(run)
        store.add_views(run, [view_run(status)])
    story = read_stories(store)["sales"]
    assert [line.outcome for line in story.runs_newest_first] == [Status.SKIPPED, Status.RAN]
    assert story.runs_newest_first[1].took == "1.5 s"


def test_an_empty_store_has_no_stories(tmp_path: Path) -> None:
    assert read_stories(ArtifactStore(tmp_path)) == {}
