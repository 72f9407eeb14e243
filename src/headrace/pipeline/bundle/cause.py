"""Explains why a skip key changed: by token, table, file, column, function, setting or view.

The parts of the old and the new key enter; causes leave. Equal keys have no causes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum

import msgspec
import pyarrow as pa

from headrace.metrics.counts import counted
from headrace.pipeline.bundle.file_list import compare_files
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.skip_key import KeyParts
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.functions.catalog import describe_change
from headrace.pipeline.translation.provenance import KERNELS, PACKAGES, QUERY, RUNNER

_FEW = 3
_ACTIVITIES = {QUERY: "translates it", KERNELS: "computes functions that it calls"}
"""What Headrace does with a view, by the part of its computation."""


class CauseKind(StrEnum):
    """The part of a key that changed."""

    NEW = "new"
    FORMAT = "format"
    VOLATILE = "volatile"
    TOKEN = "token"  # noqa: S105  (a word of a query)
    FUNCTION = "function"
    SETTING = "setting"
    VARIABLE = "variable"
    ENGINE = "engine"
    CODE = "code"
    TABLE = "table"
    COLUMN = "column"
    FILE = "file"
    UPSTREAM = "upstream"


_DATA = frozenset({CauseKind.TABLE, CauseKind.COLUMN, CauseKind.FILE})


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for a view to run again."""

    kind: CauseKind
    subject: str
    """The name of the source, function, setting or view that changed, or the changed tokens."""
    text: str

    def __str__(self) -> str:
        return self.text


def explain_change(
    old: KeyParts | None,
    new: KeyParts,
    *,
    old_units: Sequence[ScanUnit] = (),
    new_units: Sequence[ScanUnit] = (),
) -> tuple[Cause, ...]:
    """Return the differences between two keys; empty if the view may be skipped.

    Args:
        old: The key of the last successful run; None if there is none.
        new: The current key.
        old_units: What the view read then, to name the files that changed.
        new_units: What it reads now.
    """
    if old is None:
        return (_cause(CauseKind.NEW, "", "it has not run yet"),)
    volatile = (_cause(CauseKind.VOLATILE, "", reason) for reason in new.volatile)
    definition_causes = (
        *_token_causes(old.tokens, new.tokens),
        *_runner_causes(old.engine, new.engine),
    )
    if old.format != new.format:
        text = f"the key format changed from {old.format} to {new.format}"
        return (*volatile, _cause(CauseKind.FORMAT, "", text), *definition_causes)
    causes = (
        *volatile,
        *definition_causes,
        *_function_causes(old, new),
        *_setting_causes(old.settings, new.settings),
        *_source_causes(old, new, old_units, new_units),
        *_upstream_causes(old.upstream, new.upstream),
    )
    if old.engine == new.engine:
        causes += tuple(_code_causes(old.computation, new.computation))
    # A changed predicate or translation follows from another cause, unless there is none.
    return causes or (
        *_translation_causes(old.computation, new.computation),
        *_predicate_causes(old, new),
    )


def explain_upstream(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Cause, ...]:
    """Return which upstream views have a different result, given the keys of results by view.

    Two runs of one plan can read different results: if a view is left out of a run, its previous
    result is read.
    """
    return tuple(
        _cause(CauseKind.UPSTREAM, name, f"view {name} no longer has the result that was read")
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


def explain_volatile(reason: str) -> Cause:
    """Return the cause for a view whose last run was not deterministic."""
    return _cause(CauseKind.VOLATILE, "", f"its last run was not deterministic: {reason}")


def explain_view(
    old: Mapping[str, ViewPlan], new: Mapping[str, ViewPlan], view: str
) -> tuple[Cause, ...]:
    """Return why a view changed, including the causes in the views that it reads.

    Args:
        old: The plan of each view's last successful run.
        new: The current plan of each view.
        view: The view to explain.
    """
    causes: dict[str, Cause] = {}
    visited: set[str] = set()
    waiting = [view]
    while waiting:
        name = waiting.pop()
        for cause in _changes_of(name, old, new):
            if cause.kind is CauseKind.UPSTREAM and cause.subject in new:
                if cause.subject not in visited:
                    visited.add(cause.subject)
                    waiting.append(cause.subject)
            else:
                text = cause.text if name == view else f"view {name}: {cause.text}"
                causes[text] = _cause(cause.kind, cause.subject, text)
    return tuple(causes.values())


def explain_with_inlined(
    old: Mapping[str, ViewPlan], new: Mapping[str, ViewPlan], view: str, *, inlined: Collection[str]
) -> tuple[Cause, ...]:
    """Return why a view changed, including the changes of views that are computed as part of it.

    No other line of a run explains an inlined view. Its data are left out: what the view reads
    through it belongs to the view itself.

    Args:
        old: The plans of the view's last successful run.
        new: The current plan of each view.
        view: The view to explain.
        inlined: The views that are computed as part of their readers.
    """
    traced: dict[str, Cause] = {}
    direct = _changes_of(view, old, new)
    shown = {cause.text for cause in direct}
    for cause in direct:
        inner = list(_inlined_causes(cause, old, new, inlined=inlined))
        for text, change in inner or [(cause.text, cause)]:
            if not inner or text not in shown:
                traced[change.text] = change
    return tuple(traced.values()) or direct


def _inlined_causes(
    cause: Cause,
    old: Mapping[str, ViewPlan],
    new: Mapping[str, ViewPlan],
    *,
    inlined: Collection[str],
) -> Iterator[tuple[str, Cause]]:
    """Yield the changes of the definition of an inlined view, without and with its name."""
    name = cause.subject
    if cause.kind is not CauseKind.UPSTREAM or name not in inlined:
        return
    if name not in old or name not in new:
        return
    for change in _changes_of(name, old, new):
        if change.kind in _DATA:
            continue
        inner = list(_inlined_causes(change, old, new, inlined=inlined))
        named = _cause(change.kind, change.subject, f"view {name}: {change.text}")
        yield from inner or [(change.text, named)]


def _changes_of(
    view: str, old: Mapping[str, ViewPlan], new: Mapping[str, ViewPlan]
) -> tuple[Cause, ...]:
    then, now = old.get(view), new[view]
    return explain_change(
        None if then is None else then.key,
        now.key,
        old_units=() if then is None else then.units,
        new_units=now.units,
    )


def _cause(kind: CauseKind, subject: str, text: str) -> Cause:
    return Cause(kind=kind, subject=subject, text=text)


def _token_causes(old: Sequence[str], new: Sequence[str]) -> Iterator[Cause]:
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        before, after = " ".join(old[a:b]), " ".join(new[c:d])
        preceding = " ".join(new[max(0, c - _FEW) : c]) or "the start"
        change = {
            "replace": f"`{before}` became `{after}`",
            "delete": f"`{before}` is gone",
            "insert": f"`{after}` is new",
        }[tag]
        yield _cause(CauseKind.TOKEN, after or before, f"{change} after `{preceding}`")


def _function_causes(old: KeyParts, new: KeyParts) -> Iterator[Cause]:
    for name in sorted({*old.functions, *new.functions}):
        if name not in old.functions:
            yield _cause(CauseKind.FUNCTION, name, f"function {name} is now used")
        elif name not in new.functions:
            yield _cause(CauseKind.FUNCTION, name, f"function {name} is no longer used")
        else:
            for change in describe_change(old.functions[name], new.functions[name]):
                yield _cause(CauseKind.FUNCTION, name, f"function {name}: {change}")


def _setting_causes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cause]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        is_variable = name.startswith("variable ")
        kind = CauseKind.VARIABLE if is_variable else CauseKind.SETTING
        subject = name.removeprefix("variable ")
        shown = name if is_variable else f"setting {name}"
        text = f"{shown} was {before or 'not set'} and is {after or 'not set'}"
        yield _cause(kind, subject, text)


def _runner_causes(old: str, new: str) -> Iterator[Cause]:
    if old != new:
        yield _cause(CauseKind.ENGINE, new, f"the runner was {old} and is {new}")


def _code_causes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cause]:
    """Yield the changes of the code that runs views: Headrace's own, and its packages."""
    if not old and new:
        yield _cause(CauseKind.CODE, "headrace", "how Headrace computed it was not recorded")
        return
    if old.get(RUNNER) != new.get(RUNNER):
        yield _cause(CauseKind.CODE, "headrace", "Headrace's code that runs views has changed")
    if old.get(PACKAGES) != new.get(PACKAGES):
        text = f"packages were {old.get(PACKAGES)} and are {new.get(PACKAGES)}"
        yield _cause(CauseKind.CODE, "packages", text)


def _translation_causes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cause]:
    """Yield the parts of a view's computation that changed although its SQL did not."""
    for part, activity in _ACTIVITIES.items():
        if old.get(part) != new.get(part):
            yield _cause(CauseKind.CODE, part, f"Headrace now {activity} differently")


def _source_causes(
    old: KeyParts, new: KeyParts, old_units: Sequence[ScanUnit], new_units: Sequence[ScanUnit]
) -> Iterator[Cause]:
    units_then = {unit.source: unit for unit in old_units}
    units_now = {unit.source: unit for unit in new_units}
    for name in sorted({*old.sources, *new.sources}):
        then, now = old.sources.get(name), new.sources.get(name)
        if then is None or now is None:
            text = f"source {name} is {'now' if then is None else 'no longer'} read"
            yield _cause(CauseKind.FILE, name, text)
            continue
        if then.table != now.table:
            ids = f"its id was {then.table} and is {now.table}"
            text = f"source {name} is now a different table ({ids})"
            yield _cause(CauseKind.TABLE, name, text)
            continue
        yield from _column_causes(name, then.columns, now.columns)
        if then.order != now.order and set(then.order) == set(now.order):
            before, after = ", ".join(then.order), ", ".join(now.order)
            text = f"source {name}: its columns were ({before}) and are ({after})"
            yield _cause(CauseKind.COLUMN, name, text)
        if then.digest != now.digest and then.where == now.where:
            change = _describe_file_changes(units_then.get(name), units_now.get(name))
            versions = f" (version {then.version} to {now.version})" if now.version else ""
            yield _cause(CauseKind.FILE, name, f"source {name}: {change}{versions}")


def _predicate_causes(old: KeyParts, new: KeyParts) -> Iterator[Cause]:
    for name, now in sorted(new.sources.items()):
        then = old.sources.get(name)
        if then is not None and then.digest != now.digest:
            text = f"source {name}: files were pruned by {then.where} and are pruned by {now.where}"
            yield _cause(CauseKind.FILE, name, text)


def _column_causes(source: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cause]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before != after:
            text = f"column {source}.{name} was {before or 'not used'} and is {after or 'not used'}"
            yield _cause(CauseKind.COLUMN, f"{source}.{name}", text)


def _describe_file_changes(then: ScanUnit | None, now: ScanUnit | None) -> str:
    if then is None or now is None:
        return "the files that the view reads changed"
    before, after = then.files.read(), now.files.read()
    if before is None or after is None:
        return "the files that the view reads changed"
    changes = compare_files(before, after)
    parts = [
        f"{counted(len(labels), 'file')} {word}: {_first_labels(labels)}"
        for labels, word in (
            (changes.added, "added"),
            (changes.removed, "removed"),
            (changes.altered, "altered"),
        )
        if len(labels)
    ]
    return (
        "; ".join(parts) or "files with the same names have different content or partition values"
    )


def _first_labels(labels: pa.Array) -> str:
    shown = ", ".join(labels[:_FEW].to_pylist())
    return f"{shown}, ..." if len(labels) > _FEW else shown


def _upstream_causes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Cause]:
    for name in sorted({*old, *new}):
        if name not in old:
            yield _cause(CauseKind.UPSTREAM, name, f"view {name} is now read")
        elif name not in new:
            yield _cause(CauseKind.UPSTREAM, name, f"view {name} is no longer read")
        elif old[name] != new[name]:
            yield _cause(CauseKind.UPSTREAM, name, f"view {name} changed")
