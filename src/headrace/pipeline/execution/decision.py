"""Decides what a run does with each view, and why: run it, skip it, or inline it in its readers.

A bundle, a selection and the results of earlier runs enter; decisions leave, in the bundle's order.
Nothing is executed, and no data is read.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec

from headrace.errors import ResultMissingError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.cause import (
    Cause,
    explain_upstream,
    explain_volatile,
    explain_with_inlined,
)
from headrace.pipeline.bundle.content_hash import content_hash
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.execution.last_result import LastResult, LastResults
from headrace.pipeline.execution.run_request import RunRequest
from headrace.pipeline.execution.staleness import find_unrecorded_commit, why_stale
from headrace.pipeline.execution.view_selection import select_views
from headrace.pipeline.output.note import NotedVersion
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Materialise, WriteMode
from headrace.pipeline.runs.run_record import OutputVersion


class Action(StrEnum):
    """What a run does with a view."""

    RUN = "run"
    SKIP = "skip"
    INLINE = "inline"
    LEAVE_OUT = "leave out"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a run does with one view, and why."""

    view: str
    action: Action
    reason: str
    causes: tuple[Cause, ...] = ()
    skip_key: str | None = None
    """The skip key of the result, including older results of views that are left out."""
    upstream_keys: dict[str, str] = {}
    """The key of the result that the view will read, by materialised upstream view."""
    last: LastResult | None = None
    unrecorded: NotedVersion | None = None
    """A commit that already contains this result although no run has recorded it."""
    awaits: tuple[str, ...] = ()
    """Upstream views whose commits are part of the key and are made in this run: see `with_key`."""
    is_volatile: bool = False
    """Whether its last run was not deterministic: its rows may differ now."""


def decide_views(
    bundle: Bundle, request: RunRequest, *, last: LastResults, outputs: Place
) -> dict[str, Decision]:
    """Decide what a run does with each view, and why.

    Raises:
        InvalidArgumentError: the request selects a view that does not exist.
        ResultMissingError: a view reads another that is left out and has no result.
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
    """Decides view by view, upstream views first."""

    def __init__(  # noqa: PLR0913  (the inputs of decisions)
        self,
        bundle: Bundle,
        *,
        selected: Collection[str],
        last: LastResults,
        outputs: Place,
        full_refresh: bool = False,
        run: str | None = None,
    ) -> None:
        """Take the inputs of decisions.

        Args:
            bundle: The plan of the project.
            selected: The views that the run covers.
            last: The newest result of each view.
            outputs: The folder of output tables.
            full_refresh: Whether all selected views run.
            run: The id that the caller chose for the run; it may be a retry of an earlier run.
        """
        self._bundle, self._selected, self._last = bundle, selected, last
        self._outputs, self._full_refresh, self._run = outputs, full_refresh, run
        self._upstream = {name: bundle.upstream(name) for name in bundle.order}
        self._readers: dict[str, list[str]] = {name: [] for name in bundle.order}
        for name, upstream in self._upstream.items():
            for upstream_view in upstream:
                self._readers[upstream_view].append(name)
        self._inlined = frozenset(
            view.name
            for view in bundle.views.values()
            if view.header.materialise is Materialise.NONE
        )
        self._decisions: dict[str, Decision] = {}

    def decide(self) -> dict[str, Decision]:
        """Return the decision for each view.

        Raises:
            ResultMissingError: a view reads another that is left out and has no result.
        """
        for name in self._bundle.order:
            self._decisions[name] = self._decide_alone(self._bundle[name])
        for name in reversed(self._bundle.order):
            decision = self._decisions[name]
            self._decisions[name] = self._decide_for_readers(self._bundle[name], decision)
        for name in self._bundle.order:
            self._check_upstream(name)
        return self._decisions

    def _decide_alone(self, plan: ViewPlan) -> Decision:
        """Decide about a view without regard to its readers."""
        last = self._last.get(plan.name)
        decision = Decision(
            view=plan.name,
            action=Action.RUN,
            reason="",
            last=last,
            is_volatile=last is not None and bool(last.record.volatile),
        )
        if plan.header.materialise is Materialise.NONE:
            reason = "it is computed as part of the views that read it"
            return _replace(decision, action=Action.INLINE, reason=reason)
        if plan.name not in self._selected:
            return _replace(decision, action=Action.LEAVE_OUT, reason="it is not selected")
        keys_read = self._keys_read(plan)
        key = effective_key(self._bundle, plan.name, keys_read)
        decision = _replace(
            decision,
            skip_key=key,
            upstream_keys=_known_keys(keys_read),
            awaits=self._awaited(keys_read),
        )
        causes = explain_with_inlined(
            {} if last is None else last.plans or {plan.name: last.plan},
            self._bundle.views,
            plan.name,
            inlined=self._inlined,
        )
        if self._full_refresh:
            return _replace(decision, reason="a full refresh was requested", causes=causes)
        if key is not None and last is not None and last.record.skip_key == key:
            return self._decide_unchanged(plan, decision, last)
        unreadable = self._last.unreadable.get(plan.name)
        unrecorded = self._find_unrecorded(plan, key)
        if unrecorded is not None:
            commit = f"run {unrecorded.note.run} committed it as version {unrecorded.version}"
            reason = (
                f"{commit} before it died"
                if unreadable is None
                else f"{commit}, whose key is the same; {unreadable}"
            )
            return _replace(decision, action=Action.SKIP, reason=reason, unrecorded=unrecorded)
        if unreadable is not None:
            return _replace(decision, reason=unreadable)
        if last is not None and self._is_appended_already(plan, last, key):
            changed = (
                "the key format has changed"
                if plan.key.format != last.plan.key.format
                else "Headrace now computes it differently"
            )
            reason = f"{changed}, and the same result over the same versions is not appended twice"
            return _replace(decision, action=Action.SKIP, reason=reason)
        if last is not None and last.record.volatile:
            causes = (*causes, *map(explain_volatile, last.record.volatile))
        causes = causes or explain_upstream(
            last.record.upstream_keys if last else {}, _known_keys(keys_read)
        )
        reason = "; ".join(map(str, causes)) or "its last result has a different key"
        return _replace(decision, reason=reason, causes=causes)

    def _decide_unchanged(self, plan: ViewPlan, decision: Decision, last: LastResult) -> Decision:
        """Skip a view whose key is unchanged, unless its table has changed since its run."""
        origin = last.record.result_of or last.run
        if plan.header.materialise is not Materialise.OUTPUT:
            reason = f"nothing that it depends on has changed since run {origin}"
            return _replace(decision, action=Action.SKIP, reason=reason)
        output = last.record.output
        stale = (
            "it has no table"
            if output is None
            else self._why_stale(output, origin, plan.header.write)
        )
        if stale is not None or output is None:
            return _replace(decision, reason=f"{stale}")
        reason = (
            f"nothing that it depends on has changed since run {origin}, "
            f"and version {output.version} of its table is current"
        )
        return _replace(decision, action=Action.SKIP, reason=reason)

    def _is_appended_already(self, plan: ViewPlan, last: LastResult, key: str | None) -> bool:
        """Return whether only the key format, or Headrace's code, has changed since it appended.

        Running the view again would not correct the rows in the table, only add to them.
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
            and self._why_stale(output, last.record.result_of or last.run, WriteMode.APPEND) is None
        )

    def _why_stale(self, output: OutputVersion, run: str, write: WriteMode) -> str | None:
        return why_stale(output, self._outputs.at(output.uri), run=run, write=write)

    def _find_unrecorded(self, plan: ViewPlan, key: str | None) -> NotedVersion | None:
        if plan.header.materialise is not Materialise.OUTPUT:
            return None
        last = self._last.get(plan.name)
        if last is not None and last.run == self._run and not last.plan.key.defines(plan.key):
            return None  # the id is used again, for another definition of the view
        return find_unrecorded_commit(
            self._outputs / plan.name,
            project=self._bundle.project,
            view=plan.name,
            skip_key=key,
            run=self._run,
            write=plan.header.write,
        )

    def _decide_for_readers(self, plan: ViewPlan, decision: Decision) -> Decision:
        """Run a view whose result does not outlive a run if, and only if, a reader runs."""
        if plan.header.materialise not in {Materialise.MEMORY, Materialise.STAGING}:
            return decision
        readers = self._readers[plan.name]
        running = [name for name in readers if self._decisions[name].action is Action.RUN]
        if running:
            if decision.action is Action.RUN:
                return decision
            reason = f"its result is not stored, and {', '.join(running)} reads it"
            keys_read = self._keys_read(plan)
            return _replace(
                decision,
                action=Action.RUN,
                reason=reason,
                skip_key=decision.skip_key or effective_key(self._bundle, plan.name, keys_read),
                upstream_keys=_known_keys(keys_read),
                awaits=self._awaited(keys_read),
            )
        if readers and decision.action is Action.RUN:
            return _replace(decision, action=Action.SKIP, reason="no view that runs reads it")
        return decision

    def _check_upstream(self, name: str) -> None:
        if self._decisions[name].action is not Action.RUN:
            return
        for upstream in self._upstream[name]:
            if (
                self._decisions[upstream].action is Action.LEAVE_OUT
                and self._last_output(upstream) is None
            ):
                raise ResultMissingError(view=name, upstream=upstream)

    def _last_output(self, view: str) -> LastResult | None:
        """Return the newest result of a view that is in a table; None if there is none."""
        last = self._last.get(view)
        return last if last is not None and last.record.output is not None else None

    def _keys_read(self, plan: ViewPlan) -> dict[str, str | None]:
        """Return the key of the result that the view will read, by materialised upstream view.

        None means that the result cannot be compared with any other.
        """
        keys: dict[str, str | None] = {}
        for upstream in self._upstream[plan.name]:
            decision, last = self._decisions[upstream], self._last_output(upstream)
            if _keeps_older_rows(self._bundle[upstream]):
                keys[upstream] = _table_key(decision, last)
            elif decision.action is Action.LEAVE_OUT and last is not None:
                keys[upstream] = _result_key(last)
            elif decision.is_volatile:
                keys[upstream] = None
            elif decision.action is Action.LEAVE_OUT:
                keys[upstream] = self._bundle[upstream].skip_key
            else:
                keys[upstream] = decision.skip_key
        return keys

    def _awaited(self, keys_read: Mapping[str, str | None]) -> tuple[str, ...]:
        """Return the upstream views that have no key yet but will have one after they have run."""
        without_key = tuple(name for name, key in keys_read.items() if key is None)
        is_awaited = all(
            _keeps_older_rows(self._bundle[name]) and self._decisions[name].action is Action.RUN
            for name in without_key
        )
        return without_key if is_awaited else ()


def effective_key(bundle: Bundle, view: str, keys_read: Mapping[str, str | None]) -> str | None:
    """Return the skip key of a view over the results that it will actually read.

    It differs from the planned key if an upstream view is left out, so that its older result is
    read, or if the table of an upstream view keeps rows of earlier runs.
    """
    key = bundle[view].skip_key
    if key is None or None in keys_read.values():
        return None
    changed_keys = {
        name: upstream_key
        for name, upstream_key in keys_read.items()
        if upstream_key != bundle[name].skip_key
    }
    return content_hash({"key": key, "older": changed_keys}) if changed_keys else key


def with_key(decision: Decision, bundle: Bundle, outputs: Mapping[str, OutputVersion]) -> Decision:
    """Complete the key of a view with the commits of the upstream views that it awaited.

    Args:
        decision: The decision, made before anything ran.
        bundle: The bundle of the run.
        outputs: The version that each view of this run has committed.
    """
    if not decision.awaits:
        return decision
    commit_keys = {name: _commit_key(outputs[name]) for name in decision.awaits if name in outputs}
    keys_read = {**decision.upstream_keys, **commit_keys}
    is_complete = len(commit_keys) == len(decision.awaits)
    key = effective_key(bundle, decision.view, keys_read) if is_complete else None
    return _replace(decision, skip_key=key, upstream_keys=keys_read)


def _keeps_older_rows(plan: ViewPlan) -> bool:
    """Return whether the table of a view keeps rows of earlier runs or of other writers."""
    header = plan.header
    return header.materialise is Materialise.OUTPUT and header.write is not WriteMode.OVERWRITE


def _table_key(decision: Decision, last: LastResult | None) -> str | None:
    """Return the key of the commit that a reader will read; None if this run makes it."""
    if decision.action is Action.RUN:
        return None
    if decision.unrecorded is not None:
        noted = decision.unrecorded
        return content_hash({"commit": noted.commit_id, "version": noted.version})
    return None if last is None or last.record.output is None else _commit_key(last.record.output)


def _commit_key(output: OutputVersion) -> str:
    return content_hash({"commit": output.commit_id, "version": output.version})


def _result_key(last: LastResult) -> str | None:
    """Return the key of a stored result: its skip key, or else the commit that holds it."""
    output = last.record.output
    if last.record.skip_key is not None or output is None:
        return last.record.skip_key
    return content_hash({"commit": output.commit_id, "version": output.version, "run": last.run})


def _known_keys(keys: Mapping[str, str | None]) -> dict[str, str]:
    return {name: key for name, key in keys.items() if key is not None}


def _replace(decision: Decision, **changes: object) -> Decision:
    return msgspec.structs.replace(decision, **changes)
