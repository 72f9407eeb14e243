"""Compares two runs: versions, environment, and the results of views.

Two records and, where they can be read, their bundles enter; the facts that differ and the causes
of each view leave.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

import msgspec

from headrace.errors import BundleDamagedError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.cause import Cause, explain_change, explain_upstream
from headrace.pipeline.runs.run_record import RunRecord, ViewRun

PlanOrError: TypeAlias = Bundle | BundleDamagedError
"""The bundle of a run, or why it cannot be read."""


class Sameness(StrEnum):
    """How the results of a view in two runs compare."""

    SAME = "same"
    OTHER_ROWS = "other rows"
    ONLY_FIRST = "only in the first"
    ONLY_SECOND = "only in the second"
    NO_RESULT = "no result"
    """At least one run has no result: the view was inlined, or failed."""


class ViewDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One view in two runs."""

    view: str
    sameness: Sameness
    causes: tuple[Cause, ...]
    """What changed among the things that the result depends on."""
    rows: tuple[int | None, int | None]
    duration_ms: tuple[int, int]


class RunDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two runs."""

    first: str
    second: str
    facts: dict[str, tuple[str, str]]
    """The two values of each fact that differs: runner, pins, settings, packages."""
    views: tuple[ViewDifference, ...]


def diff_runs(
    first: RunRecord, second: RunRecord, *, bundles: tuple[PlanOrError, PlanOrError]
) -> RunDifference:
    """Compare two runs and, where they can be read, their bundles."""
    orders = [
        tuple(run.views) if isinstance(plan, BundleDamagedError) else plan.order
        for run, plan in zip((first, second), bundles, strict=True)
    ]
    names = list(dict.fromkeys([*orders[0], *orders[1]]))
    return RunDifference(
        first=first.id,
        second=second.id,
        facts=dict(_facts(first, second, bundles)),
        views=tuple(_view(name, first, second, bundles) for name in names),
    )


def _facts(
    first: RunRecord, second: RunRecord, bundles: tuple[PlanOrError, PlanOrError]
) -> Iterator[tuple[str, tuple[str, str]]]:
    pairs = [
        ("engine", first.engine, second.engine),
        ("status", first.status.value, second.status.value),
        ("planner", _planner(bundles[0]), _planner(bundles[1])),
    ]
    pairs += [
        (f"version of {name}", _version(first, name), _version(second, name))
        for name in sorted({*first.pins, *second.pins})
    ]
    pairs += [
        (name, _fact(first, name), _fact(second, name))
        for name in sorted({*first.environment, *second.environment})
    ]
    yield from ((name, (a, b)) for name, a, b in pairs if a != b)


def _planner(bundle: PlanOrError) -> str:
    return f"not known: {bundle}" if isinstance(bundle, BundleDamagedError) else bundle.planner


def _fact(run: RunRecord, name: str) -> str:
    return run.environment.get(name, "not recorded")


def _version(run: RunRecord, source: str) -> str:
    return str(run.pins.get(source, "not read"))


def _view(
    name: str, first: RunRecord, second: RunRecord, bundles: tuple[PlanOrError, PlanOrError]
) -> ViewDifference:
    plans = [bundle.views.get(name) if isinstance(bundle, Bundle) else None for bundle in bundles]
    records = [run.views.get(name) for run in (first, second)]
    causes: tuple[Cause, ...] = ()
    if plans[0] is not None and plans[1] is not None:
        causes = explain_change(
            plans[0].key, plans[1].key, old_units=plans[0].units, new_units=plans[1].units
        )
    if not causes and records[0] is not None and records[1] is not None:
        causes = explain_upstream(records[0].upstream_keys, records[1].upstream_keys)
    return ViewDifference(
        view=name,
        sameness=_sameness(records[0], records[1]),
        causes=causes,
        rows=(_rows(records[0]), _rows(records[1])),
        duration_ms=(_duration(records[0]), _duration(records[1])),
    )


def _sameness(first: ViewRun | None, second: ViewRun | None) -> Sameness:
    if first is None or second is None:
        return Sameness.ONLY_SECOND if second is not None else Sameness.ONLY_FIRST
    if first.digest is None or second.digest is None:
        return Sameness.NO_RESULT
    is_same = first.digest.rows_digest == second.digest.rows_digest
    return Sameness.SAME if is_same else Sameness.OTHER_ROWS


def _rows(view: ViewRun | None) -> int | None:
    return None if view is None else view.rows


def _duration(view: ViewRun | None) -> int:
    return 0 if view is None else view.duration_ms
