"""A run of a project, from its folder to its record.

Everything that may be there from a run that died is cleared first; then the project is planned,
decided upon, run and recorded. The record is written when the run starts and again when it ends,
and of each view as it ends.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from headrace.errors import RunCancelledError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.environment import now_ms
from headrace.pipeline.execution.interrupt import Interrupts, noted_interrupts
from headrace.pipeline.execution.marking import MarkBook
from headrace.pipeline.execution.progress import Progress, Quiet
from headrace.pipeline.execution.schedule import run_graph
from headrace.pipeline.execution.tracing import span
from headrace.pipeline.execution.work import Places, ViewWork, clear_staging
from headrace.pipeline.runners.task import (
    NoRunner,
    Runner,
    RunnerContext,
    TableResult,
    Upstream,
)
from headrace.pipeline.runs.record import (
    OutputVersion,
    RunRecord,
    RunStatus,
    ViewRun,
    ViewStatus,
)
from headrace.pipeline.runs.store import ArtifactStore

_FLUSH_S = 3.0


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may ask of a run beside what is planned."""

    full_refresh: bool = False
    analyse: bool = False
    views_at_once: int = 2


class Execution:
    """One run that is about to be made: its bundle is planned, its decisions are taken."""

    def __init__(  # noqa: PLR0913  (all that a run is made of)
        self,
        record: RunRecord,
        bundle: Bundle,
        decisions: Mapping[str, Decision],
        *,
        context: RunnerContext,
        store: ArtifactStore,
        places: Places,
        progress: Progress,
        options: RunOptions,
        judge: Callable[[ViewRun], ViewRun] | None = None,
        read_instead: Mapping[str, Upstream] | None = None,
    ) -> None:
        """Take everything; nothing is started.

        A replay judges each view that has run, and may let others read something else than what
        it has computed.
        """
        self._judge, self._read_instead = judge, read_instead or {}
        self._record, self._bundle, self._decisions = record, bundle, decisions
        self._context, self._store, self._places = context, store, places
        self._progress, self._options = progress, options
        self._ended: dict[str, ViewRun] = {}
        self._unsaved: list[ViewRun] = []
        self._saved_at = time.monotonic()

    def run(self, open_runner: Callable[[], Runner]) -> RunRecord:
        """Run it to the end, whichever that is; no runner is opened where nothing runs.

        Raises:
            KeyboardInterrupt: by Ctrl-C; what had been committed by then stands.
        """
        idle = all(made.action is not Action.RUN for made in self._decisions.values())
        runner = NoRunner() if idle else open_runner()
        marks = MarkBook(self._context.sources)
        work = ViewWork(
            self._record,
            self._bundle,
            runner=runner,
            catalog=self._context.catalog,
            marks=marks,
            places=self._places,
            full_refresh=self._options.full_refresh,
            analyse=self._options.analyse,
            read_instead=self._read_instead,
        )
        # In this order: a run that dies in between would be on record without what it ran.
        self._store.add_bundle(self._record, self._bundle)
        self._store.add_run(self._record)
        self._progress.run_started(self._record, self._decisions)
        self._settle_those_that_do_not_run(work)
        self._learn_marks(marks)
        with noted_interrupts() as interrupts:
            return self._run_and_record(work, runner, interrupts)

    def _run_and_record(self, work: ViewWork, runner: Runner, interrupts: Interrupts) -> RunRecord:
        status = RunStatus.FAILED
        try:
            with span("headrace.run", self._attributes()) as traced:
                self._run_graph(work, runner, traced.context, interrupts)
                bad = [v.view for v in self._ended.values() if v.status is ViewStatus.FAILED]
                status = RunStatus.FAILED if bad else RunStatus.SUCCEEDED
                traced.tell({"headrace.status": status.value})
                if bad:
                    traced.fail(f"failed: {', '.join(bad)}")
        except (KeyboardInterrupt, RunCancelledError):
            status = RunStatus.CANCELLED
            raise
        finally:
            runner.close()
            clear_staging(self._places.staging)
            finished = self._finish(work, status)
        return finished

    def _attributes(self) -> dict[str, str]:
        record = self._record
        return {
            "headrace.run": record.id,
            "headrace.project": record.project,
            "headrace.kind": record.kind.value,
            "headrace.engine": record.engine,
            "headrace.bundle": record.bundle,
        }

    def _run_graph(
        self, work: ViewWork, runner: Runner, parent: Any, interrupts: Interrupts
    ) -> None:
        order = self._bundle.order
        running = [n for n in order if self._decisions[n].action is Action.RUN]
        among = set(running)
        waits_for = {
            name: [up for up in self._bundle.upstream(name) if up in among] for name in running
        }

        def run_view(name: str) -> ViewRun:
            self._progress.view_started(name)
            attributes = {"headrace.view": name, "headrace.run": self._record.id}
            with span("headrace.view", attributes, parent=parent) as traced:
                ran = work.run(self._decisions[name])
                judged = self._judge(ran) if self._judge and ran.stands else ran
                traced.tell(
                    {"headrace.status": judged.status.value, "headrace.rows": ran.rows or 0}
                )
                if judged.failure is not None:
                    traced.fail(judged.failure.text)
                return judged

        # Counting tasks means dozens of calls into the JVM: only for someone who wants to know.
        listens = type(self._progress).tasks_counted is not Quiet.tasks_counted

        def poll(active: Collection[str]) -> None:
            interrupts.obey()
            for name in active if listens else ():
                done, known = runner.progress(name)
                self._progress.tasks_counted(name, done=done, known=known)
            self._save(work)

        run_graph(
            waits_for,
            at_once=self._options.views_at_once,
            work=lambda name: self._end(run_view(name)),
            is_good=lambda view: view.stands,
            blocked=lambda name, because: self._end(self._blocked(name, because)),
            poll=poll,
            cancel=runner.cancel,
        )

    def _end(self, view: ViewRun) -> ViewRun:
        self._ended[view.view] = view
        self._unsaved.append(view)
        self._progress.view_finished(view)
        return view

    def _blocked(self, name: str, because: str) -> ViewRun:
        reason = f"{because}, which it reads, failed"
        return self._plain(name, ViewStatus.BLOCKED, reason)

    def _plain(self, name: str, status: ViewStatus, reason: str) -> ViewRun:
        fingerprint = self._bundle[name].plan_fingerprint
        return ViewRun(view=name, status=status, reason=reason, plan_fingerprint=fingerprint)

    def _settle_those_that_do_not_run(self, work: ViewWork) -> None:
        for name, decision in self._decisions.items():
            last = decision.last
            if decision.action is not Action.RUN and last is not None and last.record.output:
                output = last.record.output
                work.results[name] = TableResult(uri=output.uri, version=output.version)
            match decision.action:
                case Action.SKIP:
                    view = self._skipped(decision)
                    if view.output is not None:
                        table = TableResult(uri=view.output.uri, version=view.output.version)
                        work.results[name] = table
                    self._end(view)
                case Action.INLINE:
                    self._end(self._plain(name, ViewStatus.INLINED, decision.reason))
                case Action.LEAVE_OUT:
                    view = self._plain(name, ViewStatus.LEFT_OUT, decision.reason)
                    read = None if last is None else last.record.output
                    self._end(msgspec.structs.replace(view, output=read))
                case Action.RUN:
                    continue

    def _skipped(self, decision: Decision) -> ViewRun:
        view = self._plain(decision.view, ViewStatus.SKIPPED, decision.reason)
        unsaid, last = decision.unsaid, decision.last
        if unsaid is not None:
            table = str(self._places.outputs / decision.view)
            output = OutputVersion(uri=table, version=unsaid.version, files=0, size_bytes=0)
            return msgspec.structs.replace(
                view,
                skip_key=decision.skip_key,
                upstream_keys=unsaid.note.upstream_keys,
                digest=unsaid.note.digest,
                output=output,
                result_of=unsaid.note.run,
            )
        if last is None:
            return view
        return msgspec.structs.replace(
            view,
            skip_key=last.record.skip_key,
            upstream_keys=last.record.upstream_keys,
            digest=last.record.digest,
            output=last.record.output,
            result_of=last.record.result_of or last.run,
        )

    def _learn_marks(self, marks: MarkBook) -> None:
        """Take over the marks of earlier runs, so that no file is looked at twice."""
        origins = {
            made.last.record.result_of or made.last.run
            for made in self._decisions.values()
            if made.action is Action.RUN and made.last is not None
        }
        for run in self._store.runs() if origins else ():
            if run.id in origins:
                for found in self._store.marks(run).values():
                    marks.take_over(found)

    def _save(self, work: ViewWork, *, now: bool = False) -> None:
        """Write down what has ended, now and then: a run that dies leaves most of its story."""
        if not now and (not self._unsaved or time.monotonic() - self._saved_at < _FLUSH_S):
            return
        views, self._unsaved = self._unsaved, []
        names = {view.view for view in views}
        units = {name: work.marks.pop(name) for name in names if name in work.marks}
        plans = {name: work.plans.pop(name) for name in names if name in work.plans}
        self._store.add_units(self._record, self._bundle, units)
        self._store.add_plans(self._record, plans)
        self._store.add_views(self._record, views)
        self._saved_at = time.monotonic()

    def _finish(self, work: ViewWork, status: RunStatus) -> RunRecord:
        for name, decision in self._decisions.items():
            if name not in self._ended:
                self._end(self._plain(name, ViewStatus.CANCELLED, decision.reason))
        self._save(work, now=True)
        in_order = {name: self._ended[name] for name in self._bundle.order}
        record = msgspec.structs.replace(
            self._record, status=status, finished_ms=now_ms(), views=in_order
        )
        self._store.add_run(record)
        self._progress.run_finished(record)
        return record
