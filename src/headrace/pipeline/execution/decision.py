"""What is to be done with each view, and why: run it, skip it, or leave it to its readers.

Bundle, selection and what is known of earlier runs enter; decisions leave, in the order of the
bundle. Nothing is executed, and no data is read.
"""

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from headrace.errors import ResultMissingError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.cause import (
    Cause,
    explain_change,
    explain_upstream,
    explain_volatile,
)
from headrace.pipeline.bundle.digest import digest_of
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.request import RunRequest
from headrace.pipeline.execution.selection import select_views
from headrace.pipeline.execution.standing import find_unrecorded_commit, why_stale
from headrace.pipeline.output.note import NotedVersion
from headrace.pipeline.project.header import Materialise, WriteMode
from headrace.pipeline.runs.record import OutputVersion, ViewRun


class Action(StrEnum):
    """What is done with a view."""

    RUN = "run"
    SKIP = "skip"
    INLINE = "inline"
    LEAVE_OUT = "leave out"


class LastResult(msgspec.Struct, frozen=True, kw_only=True):
    """The newest result of a view: the run, its record there, and the plan that it followed."""

    run: str
    record: ViewRun
    plan: ViewPlan


class LastResults(Mapping[str, LastResult]):
    """By view, its newest result; and the views whose last plan can no longer be read."""

    def __init__(
        self,
        results: Mapping[str, LastResult] | None = None,
        *,
        unreadable: Mapping[str, str] | None = None,
        newest_ms: int = 0,
    ) -> None:
        """Take both; a view is in one of them at most."""
        self._results = results or {}
        self.unreadable = unreadable or {}
        """By view that has run, why nothing can be said about that: it runs again."""
        self.newest_ms = newest_ms
        """When the newest run started that has one of the results."""

    def __getitem__(self, view: str) -> LastResult:
        return self._results[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with one view, and why."""

    view: str
    action: Action
    reason: str
    causes: tuple[Cause, ...] = ()
    skip_key: str | None = None
    """What its result will depend on, older results of views that are left out among it."""
    upstream_keys: dict[str, str] = {}
    """By materialised view that it reads, the skip key of the result that it will read."""
    last: LastResult | None = None
    unrecorded: NotedVersion | None = None
    """A commit that stands for this work though no run has recorded it."""
    awaits: tuple[str, ...] = ()
    """The views whose commits are part of its key and are only made in this run: see `with_key`."""
    is_volatile: bool = False
    """Whether the engine called its last run non-deterministic: its rows may be others now."""


def decide_views(
    bundle: Bundle, request: RunRequest, *, last: LastResults, outputs: Path
) -> dict[str, Decision]:
    """What a run does with each view, and why.

    Raises:
        InvalidArgumentError: the request selects a view that does not exist.
        ResultMissingError: a view reads one that is left out and has no result.
    """
    return Decider(
        bundle,
        selected=select_views(bundle, select=request.select, exclude=request.exclude),
        last=last,
        outputs=outputs,
        full_refresh=request.full_refresh,
        run=request.run_id,
    ).decide()


class Decider:
    """Decides view by view; what is upstream is decided first."""

    def __init__(  # noqa: PLR0913  (all that decisions rest on)
        self,
        bundle: Bundle,
        *,
        selected: Collection[str],
        last: LastResults,
        outputs: Path,
        full_refresh: bool = False,
        run: str | None = None,
    ) -> None:
        """Take what decisions rest on.

        Args:
            bundle: What is planned.
            selected: The views that the run is about.
            last: By view, its newest result.
            outputs: The folder of output tables.
            full_refresh: Whether all that is selected runs.
            run: The id that the caller has given the run: it may be one that is tried again.
        """
        self._bundle, self._selected, self._last = bundle, selected, last
        self._outputs, self._full_refresh, self._run = outputs, full_refresh, run
        self._upstream = {name: bundle.upstream(name) for name in bundle.order}
        self._readers: dict[str, list[str]] = {name: [] for name in bundle.order}
        for name, upstream in self._upstream.items():
            for read in upstream:
                self._readers[read].append(name)
        self._made: dict[str, Decision] = {}

    def decide(self) -> dict[str, Decision]:
        """The decisions by view.

        Raises:
            ResultMissingError: a view reads one that is left out and has no result.
        """
        for name in self._bundle.order:
            self._made[name] = self._first_look(self._bundle[name])
        for name in reversed(self._bundle.order):
            self._made[name] = self._second_look(self._bundle[name], self._made[name])
        for name in self._bundle.order:
            self._check_upstream(name)
        return self._made

    def _first_look(self, plan: ViewPlan) -> Decision:
        """What a view would do for itself."""
        last = self._last.get(plan.name)
        made = Decision(
            view=plan.name,
            action=Action.RUN,
            reason="",
            last=last,
            is_volatile=last is not None and bool(last.record.volatile),
        )
        if plan.header.materialise is Materialise.NONE:
            reason = "it is computed by whoever reads it"
            return _replace(made, action=Action.INLINE, reason=reason)
        if plan.name not in self._selected:
            return _replace(made, action=Action.LEAVE_OUT, reason="it is not selected")
        read = self._keys_read(plan)
        key = effective_key(self._bundle, plan.name, read)
        made = _replace(made, skip_key=key, upstream_keys=_known(read), awaits=self._awaited(read))
        causes = explain_change(
            None if last is None else last.plan.key,
            plan.key,
            old_units=() if last is None else last.plan.units,
            new_units=plan.units,
        )
        if self._full_refresh:
            return _replace(made, reason="a full refresh is asked for", causes=causes)
        if key is not None and last is not None and last.record.skip_key == key:
            return self._with_known_key(plan, made, last)
        unreadable = self._last.unreadable.get(plan.name)
        unrecorded = self._unrecorded(plan, key)
        if unrecorded is not None:
            made_it = f"run {unrecorded.note.run} committed it as version {unrecorded.version}"
            reason = (
                f"{made_it} before it died"
                if unreadable is None
                else f"{made_it}, whose key is the same; {unreadable}"
            )
            return _replace(made, action=Action.SKIP, reason=reason, unrecorded=unrecorded)
        if unreadable is not None:
            return _replace(made, reason=unreadable)
        if last is not None and self._is_appended_already(plan, last, key):
            changed = (
                "keys are made"
                if plan.key.format != last.plan.key.format
                else "Headrace computes it"
            )
            reason = (
                f"{changed} in another way now, and the same result over the same versions is "
                "not appended twice"
            )
            return _replace(made, action=Action.SKIP, reason=reason)
        if last is not None and last.record.volatile:
            causes = (*causes, *map(explain_volatile, last.record.volatile))
        causes = causes or explain_upstream(last.record.upstream_keys if last else {}, _known(read))
        told = "; ".join(map(str, causes)) or "its last result has another key"
        return _replace(made, reason=told, causes=causes)

    def _with_known_key(self, plan: ViewPlan, made: Decision, last: LastResult) -> Decision:
        origin = last.record.result_of or last.run
        if plan.header.materialise is not Materialise.OUTPUT:
            reason = f"nothing that it depends on has changed since run {origin}"
            return _replace(made, action=Action.SKIP, reason=reason)
        output = last.record.output
        stale = (
            "it has no table"
            if output is None
            else why_stale(output, run=origin, write=plan.header.write)
        )
        if stale is not None or output is None:
            return _replace(made, reason=f"{stale}")
        reason = (
            f"nothing that it depends on has changed since run {origin}, "
            f"and version {output.version} of its table stands"
        )
        return _replace(made, action=Action.SKIP, reason=reason)

    def _is_appended_already(self, plan: ViewPlan, last: LastResult, key: str | None) -> bool:
        """Whether only the format of keys, or Headrace's code, has changed since it appended.

        Running it again would not mend rows that are there, only add to them.
        """
        output, older = last.record.output, last.plan.key
        is_same = (
            plan.key.is_same_by_version(older)
            if plan.key.format != older.format
            else plan.key.is_same_but_for_code(older)
            and (plan.skip_key, last.plan.skip_key) == (key, last.record.skip_key)
        )
        return (
            plan.header.write is WriteMode.APPEND
            and is_same
            and output is not None
            and why_stale(output, run=last.record.result_of or last.run, write=WriteMode.APPEND)
            is None
        )

    def _unrecorded(self, plan: ViewPlan, key: str | None) -> NotedVersion | None:
        if plan.header.materialise is not Materialise.OUTPUT:
            return None
        return find_unrecorded_commit(
            self._outputs / plan.name,
            project=self._bundle.project,
            view=plan.name,
            skip_key=key,
            run=self._run,
            write=plan.header.write,
        )

    def _second_look(self, plan: ViewPlan, made: Decision) -> Decision:
        """What others need of it: a result that is not kept is made for those who read it."""
        if plan.header.materialise not in {Materialise.MEMORY, Materialise.STAGING}:
            return made
        readers = self._readers[plan.name]
        running = [name for name in readers if self._made[name].action is Action.RUN]
        if running:
            if made.action is Action.RUN:
                return made
            reason = f"it is not kept, and {', '.join(running)} reads it"
            read = self._keys_read(plan)
            return _replace(
                made,
                action=Action.RUN,
                reason=reason,
                skip_key=made.skip_key or effective_key(self._bundle, plan.name, read),
                upstream_keys=_known(read),
                awaits=self._awaited(read),
            )
        if readers and made.action is Action.RUN:
            return _replace(made, action=Action.SKIP, reason="no view that runs reads it")
        return made

    def _check_upstream(self, name: str) -> None:
        if self._made[name].action is not Action.RUN:
            return
        for upstream in self._upstream[name]:
            if self._made[upstream].action is Action.LEAVE_OUT and self._standing(upstream) is None:
                raise ResultMissingError(view=name, upstream=upstream)

    def _standing(self, view: str) -> LastResult | None:
        last = self._last.get(view)
        return last if last is not None and last.record.output is not None else None

    def _keys_read(self, plan: ViewPlan) -> dict[str, str | None]:
        """By materialised view upstream, the key of the result that there will be to read.

        None stands for a result that nothing but itself is equal to.
        """
        read: dict[str, str | None] = {}
        for upstream in self._upstream[plan.name]:
            made, last = self._made[upstream], self._standing(upstream)
            if _keeps_older_rows(self._bundle[upstream]):
                read[upstream] = _table_key(made, last)
            elif made.action is Action.LEAVE_OUT and last is not None:
                read[upstream] = _result_key(last)
            elif made.is_volatile:
                read[upstream] = None
            elif made.action is Action.LEAVE_OUT:
                read[upstream] = self._bundle[upstream].skip_key
            else:
                read[upstream] = made.skip_key
        return read

    def _awaited(self, read: Mapping[str, str | None]) -> tuple[str, ...]:
        """The views upstream that have no key yet, but will have one when they have run."""
        without_key = tuple(name for name, key in read.items() if key is None)
        is_awaited = all(
            _keeps_older_rows(self._bundle[name]) and self._made[name].action is Action.RUN
            for name in without_key
        )
        return without_key if is_awaited else ()


def effective_key(bundle: Bundle, view: str, read: Mapping[str, str | None]) -> str | None:
    """The skip key; another one if a view will be read in a state that its own key does not tell.

    Such views are left out and read as they last were, or keep rows of earlier runs.
    """
    key = bundle[view].skip_key
    if key is None or None in read.values():
        return None
    other = {name: state for name, state in read.items() if state != bundle[name].skip_key}
    return digest_of({"key": key, "older": other}) if other else key


def with_key(decision: Decision, bundle: Bundle, outputs: Mapping[str, OutputVersion]) -> Decision:
    """Complete the key of a view by the commits of the views that it had to wait for.

    Args:
        decision: What was decided before anything ran.
        bundle: The bundle of the run.
        outputs: By view that has run, the version that it made.
    """
    if not decision.awaits:
        return decision
    states = {name: _commit_key(outputs[name]) for name in decision.awaits if name in outputs}
    read = {**decision.upstream_keys, **states}
    is_complete = len(states) == len(decision.awaits)
    key = effective_key(bundle, decision.view, read) if is_complete else None
    return _replace(decision, skip_key=key, upstream_keys=read)


def _keeps_older_rows(plan: ViewPlan) -> bool:
    """Whether the table of a view holds rows of earlier runs, too, or of other writers."""
    header = plan.header
    return header.materialise is Materialise.OUTPUT and header.write is not WriteMode.OVERWRITE


def _table_key(decision: Decision, last: LastResult | None) -> str | None:
    """The commit that a reader of such a table will read; None while it is not made."""
    if decision.action is Action.RUN:
        return None
    if decision.unrecorded is not None:
        noted = decision.unrecorded
        return digest_of({"commit": noted.commit_id, "version": noted.version})
    return None if last is None or last.record.output is None else _commit_key(last.record.output)


def _commit_key(output: OutputVersion) -> str:
    return digest_of({"commit": output.commit_id, "version": output.version})


def _result_key(last: LastResult) -> str | None:
    """What stands for a result that is kept: its skip key, or else the commit that holds it."""
    output = last.record.output
    if last.record.skip_key is not None or output is None:
        return last.record.skip_key
    return digest_of({"commit": output.commit_id, "version": output.version, "run": last.run})


def _known(keys: Mapping[str, str | None]) -> dict[str, str]:
    return {name: key for name, key in keys.items() if key is not None}


def _replace(decision: Decision, **changes: object) -> Decision:
    return msgspec.structs.replace(decision, **changes)
