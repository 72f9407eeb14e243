"""A run, replayed: the same bundle, the same files, once more, and the results compared.

Nothing of the project is changed: results go into a folder of the replay's own, which is gone
afterwards. What is missing is named before anything is computed.
"""

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

import msgspec

from headrace.errors import HeadraceError, PinnedFilesChangedError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.comparison import Rows, compare_results
from headrace.pipeline.execution.conductor import Conductor, Wish
from headrace.pipeline.execution.decision import Action, Decision, LastResult
from headrace.pipeline.execution.marking import files_of
from headrace.pipeline.execution.progress import Progress
from headrace.pipeline.execution.run import Execution, RunOptions
from headrace.pipeline.execution.work import Places
from headrace.pipeline.project.header import Materialise, WriteMode
from headrace.pipeline.runners.task import TableResult, Upstream
from headrace.pipeline.runs.file_mark import FileMark, altered
from headrace.pipeline.runs.record import Failure, RunRecord, ViewRun, ViewStatus
from headrace.pipeline.runs.store import ArtifactStore
from headrace.pipeline.sources.source import Source
from headrace.table import Table

_DIFFERS = "REPLAY_DIFFERS"


def replay_run(
    conductor: Conductor, run: str, *, engine: str | None, progress: Progress
) -> RunRecord:
    """Compute the views of a run again, and compare.

    Raises:
        RunNotFoundError: there is no such run.
        PinnedFilesChangedError: files that it read are gone or altered.
        FunctionChangedError: a function is not what it was.
    """
    store = conductor.state.store
    then = store.find(run)
    bundle = store.bundle(then.bundle)
    chosen = engine or then.engine.partition(" ")[0]
    with conductor.hold() as places:
        wish = Wish(engine=chosen, profile="default")
        record = conductor.new_record(wish, bundle, replay_of=then.id)
        context = conductor.context(record, bundle)
        decisions = _decisions(then, bundle)
        marks = _Marks(store, then)
        for name, decision in decisions.items():
            if decision.action is Action.RUN:
                _check_files(bundle[name], marks.of(name), context.sources)
        private = Places(
            outputs=conductor.state.folder / "replays" / record.id,
            staging=places.staging,
            intents=places.intents,
        )
        execution = Execution(
            record,
            bundle,
            decisions,
            context=context,
            store=store,
            places=private,
            progress=progress,
            options=RunOptions(full_refresh=True, views_at_once=conductor.profile.views_at_once),
            judge=_Comparer(then, bundle).judge,
            read_instead=_read_instead(then, bundle),
        )
        try:
            return execution.run(lambda: conductor.runner(chosen, context))
        finally:
            rmtree(private.outputs, ignore_errors=True)


def _decisions(then: RunRecord, bundle: Bundle) -> dict[str, Decision]:
    """Every view that had a result is computed, and what these need that is not kept."""
    had = {name for name, view in then.views.items() if view.digest is not None and view.stands}
    for name in reversed(bundle.order):
        if name in had:
            passing = (Materialise.MEMORY, Materialise.STAGING)
            upstream = bundle.upstream(name)
            had |= {up for up in upstream if bundle[up].header.materialise in passing}
    return {name: _decision(then, bundle[name], replayed=name in had) for name in bundle.order}


def _decision(then: RunRecord, plan: ViewPlan, *, replayed: bool) -> Decision:
    record = then.views.get(plan.name)
    last = None if record is None else LastResult(run=then.id, record=record, plan=plan)
    made = Decision(
        view=plan.name, action=Action.LEAVE_OUT, reason=f"run {then.id} left it out", last=last
    )
    if plan.header.materialise is Materialise.NONE:
        reason = "it is computed by whoever reads it"
        return msgspec.structs.replace(made, action=Action.INLINE, reason=reason)
    if not replayed:
        return made
    return msgspec.structs.replace(
        made,
        action=Action.RUN,
        reason=f"run {then.id} is replayed",
        skip_key=plan.skip_key,
        upstream_keys={} if record is None else record.upstream_keys,
    )


def _read_instead(then: RunRecord, bundle: Bundle) -> dict[str, Upstream]:
    """What views read that read a table which is more than its view's own rows: that table."""
    return {
        name: TableResult(uri=view.output.uri, version=view.output.version)
        for name, view in then.views.items()
        if view.output is not None and bundle[name].header.write is not WriteMode.OVERWRITE
    }


class _Marks:
    """The marks of the files of a run; of views that it skipped, those of the run that did not."""

    def __init__(self, store: ArtifactStore, then: RunRecord) -> None:
        self._store, self._then = store, then
        self._by_run = {then.id: store.marks(then)}

    def of(self, view: str) -> dict[str, tuple[FileMark, ...]]:
        """By source, the marks of the files that led to a view's result."""
        known = self._then.views.get(view)
        origin = self._then.id if known is None else known.result_of or self._then.id
        if origin not in self._by_run:
            self._by_run[origin] = self._store.marks(self._store.find(origin))
        return self._by_run[origin].get(view, {})


def _check_files(
    plan: ViewPlan, known: Mapping[str, tuple[FileMark, ...]], sources: Mapping[str, Source]
) -> None:
    """Make sure that all files are there, and are what they were.

    Raises:
        PinnedFilesChangedError: some are not.
    """
    for unit in plan.units:
        found = sources[unit.source].prune(unit.where)
        wrong = [] if found.digest() == unit.digest else ["the log names other files now"]
        marks = {mark.path: mark for mark in known.get(unit.source, ())}
        wrong += _wrong_files(sources[unit.source], unit, marks)
        if wrong:
            raise PinnedFilesChangedError(view=plan.name, source=unit.source, files=wrong)


def _wrong_files(source: Source, unit: ScanUnit, marks: Mapping[str, FileMark]) -> list[str]:
    wrong = []
    for file in files_of(source, unit):
        mark = marks.get(file.path)
        try:
            file.place.stat()
            how = None if mark is None else altered(mark, file.place)
        except FileNotFoundError:
            wrong.append(f"{file.path} is gone")
            continue
        if how is not None:
            wrong.append(f"{file.path} was altered: {how}")
    return wrong


class _Comparer:
    """Compares what each view gives with what it gave."""

    def __init__(self, then: RunRecord, bundle: Bundle) -> None:
        self._then, self._bundle = then, bundle

    def judge(self, now: ViewRun) -> ViewRun:
        """The view as it is recorded: failed, if it gives something else than it gave."""
        then = self._then.views.get(now.view)
        if then is None or then.digest is None or now.digest is None:
            return now
        header = self._bundle[now.view].header
        difference = compare_results(
            then.digest,
            now.digest,
            tier=header.tier,
            tolerance=header.tolerance,
            rows_then=_rows(then) if header.write is WriteMode.OVERWRITE else None,
            rows_now=_rows(now),
        )
        if difference is None:
            reason = f"equal to run {self._then.id} by {header.tier}"
            return msgspec.structs.replace(now, reason=reason, output=None)
        text = f"{difference} ({header.tier})"
        return msgspec.structs.replace(
            now,
            status=ViewStatus.FAILED,
            reason=text,
            failure=Failure(code=_DIFFERS, text=text),
            output=None,
        )


def _rows(view: ViewRun) -> Rows | None:
    """Who reads the rows of a view's table; None if it has none, or its files are gone."""
    output = view.output
    if output is None:
        return None
    try:
        snapshot = Table(output.uri).snapshot(version=output.version)
        there = all(Path(file.uri).exists() for file in snapshot.scan())
    except HeadraceError:
        return None
    return (lambda: snapshot.rows().read_all()) if there else None
