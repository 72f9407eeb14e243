"""Determinism lint: what in a query may return different rows for the same data.

Each finding names the promise that it breaks. A *volatile* view is never skipped; a view that
depends on the *order* of rows is not assumed to be unchanged after its files were compacted.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum

import msgspec
from sqlglot import exp

from headrace.pipeline.analysis.lineage import Lineage
from headrace.pipeline.analysis.volatile import (
    KnownColumns,
    is_clock,
    is_random,
    is_special_time,
)
from headrace.pipeline.project.header import Tier
from headrace.pipeline.translation.kernel import row_ordered

_ORDERED_AGGREGATES = (
    *(exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue, exp.ArrayAgg),
    *(exp.ArrayUniqueAgg, exp.GroupConcat, exp.ArgMax, exp.ArgMin, exp.ApproxQuantile, exp.Mode),
)
_POSITIONAL = (exp.RowNumber, exp.Lead, exp.Lag, exp.Ntile, exp.FirstValue, exp.LastValue)
_FLOATS = frozenset({"fp32", "fp64"})
_GATHERED = re.compile(r"CAST\(array_agg\((.*)\) AS list\)")
"""How a plan writes the collected values of a group that a kernel takes."""
_FLOAT_SUMS = ("sum(", "avg(", "stddev", "var", "covar", "corr", "regr")


class Hazard(StrEnum):
    """How a result may differ over the same data."""

    VOLATILE = "volatile"
    """A different result at a different time."""
    ORDER = "order"
    """Different rows, if the runner reads its input in a different order."""
    FLOAT = "float"
    """Different last digits, if the runner adds in a different order."""
    TIER = "tier"
    """The view promises more than its other findings allow."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of the lint."""

    hazard: Hazard
    code: str
    text: str


def lint_query(  # noqa: PLR0913  (each is a separate fact about the query)
    tree: exp.Query,
    *,
    lineage: Lineage | None,
    volatile: Mapping[str, str],
    tier: Tier,
    columns: KnownColumns | None = None,
    project_windows: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Return everything in a query that may return different rows for the same data.

    Args:
        tree: The query.
        lineage: What its plan says about types; None if it has no plan.
        volatile: The functions whose views must run every time, each with the reason.
        tier: What the view promises.
        columns: The columns of what it reads; None if they are not known.
        project_windows: The window functions of the project that it calls.
    """
    candidates = [
        *_volatile(tree, volatile, columns),
        *_limits(tree),
        *_windows(tree, project_windows),
        *_aggregates(tree),
        *_floats(tree, lineage),
    ]
    distinct = {(finding.code, finding.text): finding for finding in candidates}
    findings = sorted(distinct.values(), key=lambda finding: (finding.hazard, finding.text))
    return (*findings, *_promises(findings, tier))


def is_order_free(findings: Collection[Finding]) -> bool:
    """Return whether the same rows in other files produce exactly the same result."""
    return not any(finding.hazard is not Hazard.TIER for finding in findings)


def volatile_finding(reason: str) -> Finding:
    """Return the finding for a function whose result is not provably the same as before."""
    return _finding(Hazard.VOLATILE, "FUNCTION", reason)


def _finding(hazard: Hazard, code: str, text: str) -> Finding:
    return Finding(hazard=hazard, code=code, text=text)


def _sql(node: exp.Expr) -> str:
    return node.sql(dialect="spark", comments=False)


def _volatile(
    tree: exp.Query, volatile: Mapping[str, str], columns: KnownColumns | None
) -> Iterator[Finding]:
    for node in tree.find_all(exp.Func, exp.Column, exp.Literal):
        name = node.name.casefold() if isinstance(node, exp.Anonymous) else ""
        if is_clock(node) or is_special_time(node, columns):
            text = (
                f"{_sql(node)} is a different time in each run; use a variable, such as :run_date"
            )
            yield _finding(Hazard.VOLATILE, "CLOCK", text)
        elif is_random(node, columns):
            text = f"{_sql(node)} is a different value in each run"
            yield _finding(Hazard.VOLATILE, "RANDOM", text)
        elif name in volatile:
            yield volatile_finding(volatile[name])
    for sample in tree.find_all(exp.TableSample):
        text = f"{_sql(sample).strip()} takes different rows in each run"
        yield _finding(Hazard.VOLATILE, "SAMPLE", text)


def _limits(tree: exp.Query) -> Iterator[Finding]:
    for query in tree.find_all(exp.Query):
        limit = query.args.get("limit") or query.args.get("offset")
        if limit is None or isinstance(query.parent, exp.Exists) or _gives_one_row(query):
            continue
        order = query.args.get("order")
        if order is None:
            text = f"{_sql(limit).strip()} without ORDER BY takes any rows"
            yield _finding(Hazard.ORDER, "UNORDERED_LIMIT", text)
        elif not _covers_output(query, order):
            text = (
                f"{_sql(limit).strip()} may cut between rows that are equal in "
                f"{_sql(order).strip()}"
            )
            yield _finding(Hazard.ORDER, "LIMIT_TIES", text)


def _gives_one_row(query: exp.Query) -> bool:
    """Return whether a query aggregates all its rows into one."""
    if not isinstance(query, exp.Select) or query.args.get("group") or query.find(exp.UDTF):
        return False
    return any(
        aggregate.find_ancestor(exp.Window, exp.Query) is query
        for column in query.selects
        for aggregate in column.find_all(exp.AggFunc)
    )


def _covers_output(query: exp.Query, order: exp.Expr) -> bool:
    """Return whether rows that tie in an order are identical."""
    keys = {_sql(key.this).casefold() for key in order.expressions}
    outputs = [column.unalias() for column in query.selects]
    named = {column.alias_or_name.casefold() for column in query.selects}
    texts = {_sql(column).casefold() for column in outputs}
    group = query.args.get("group")
    if group is not None and group.expressions:
        return {_sql(key).casefold() for key in group.expressions} <= keys
    return bool(named) and (named <= keys or texts <= keys)


def _windows(tree: exp.Query, project_windows: Collection[str]) -> Iterator[Finding]:
    for window in tree.find_all(exp.Window):
        function = window.this
        plain = function.this if isinstance(function, exp.IgnoreNulls) else function
        is_project = isinstance(plain, exp.Anonymous) and plain.name.casefold() in project_windows
        if not (is_project or isinstance(plain.unnest(), _POSITIONAL) or _counts_rows(window)):
            continue
        name = _sql(function)
        if window.args.get("order") is None:
            text = f"{name} OVER without ORDER BY depends on the order in which rows are read"
            yield _finding(Hazard.ORDER, "UNORDERED_WINDOW", text)
        else:
            order = _sql(window.args["order"]).strip()
            text = f"{name} depends on the order of rows that are equal in {order}"
            yield _finding(Hazard.ORDER, "WINDOW_TIES", text)


def _counts_rows(window: exp.Window) -> bool:
    """Return whether a frame selects rows by position, so that the order of ties matters."""
    frame = window.args.get("spec")
    if frame is None or frame.args.get("kind") != "ROWS":
        return False
    return {frame.args.get("start"), frame.args.get("end")} != {"UNBOUNDED"}


def _aggregates(tree: exp.Query) -> Iterator[Finding]:
    for node in tree.find_all(exp.Func):
        if _forgets_order(node.parent):
            continue
        if isinstance(node, _ORDERED_AGGREGATES) and not isinstance(node.parent, exp.Window):
            text = f"{_sql(node)} depends on the order in which rows are read"
            yield _finding(Hazard.ORDER, "ORDERED_AGGREGATE", text)


def _forgets_order(node: exp.Expr | None) -> bool:
    """Return whether the order of the array passed to a function does not matter."""
    is_sort = isinstance(node, exp.ArraySort) and node.args.get("expression") is None
    return is_sort or isinstance(node, exp.ArraySize)


def _floats(tree: exp.Query, lineage: Lineage | None) -> Iterator[Finding]:
    if lineage is None:
        for node in tree.find_all(exp.Sum, exp.Avg, exp.Stddev, exp.Variance):
            text = f"{_sql(node)} may add floats, whose sum depends on their order"
            yield _finding(Hazard.FLOAT, "FLOAT_SUM", text)
        return
    kernels = row_ordered(lineage.functions)
    for expression in lineage.expressions:
        if kernels.intersection(expression.functions):
            measure = _GATHERED.sub(r"\1", expression.text).replace("double_sum(", "sum(")
            text = f"{measure} adds floats, whose sum depends on their order"
            yield _finding(Hazard.FLOAT, "FLOAT_SUM", text)
    for aggregate in lineage.aggregates:
        for measure, kind in zip(aggregate.measures, aggregate.types, strict=True):
            if kind in _FLOATS and measure.startswith(_FLOAT_SUMS):
                text = f"{measure} adds floats, whose sum depends on their order"
                yield _finding(Hazard.FLOAT, "FLOAT_SUM", text)


def _promises(findings: Collection[Finding], tier: Tier) -> Iterator[Finding]:
    broken = {
        Tier.CANONICAL: {Hazard.VOLATILE, Hazard.ORDER, Hazard.FLOAT},
        Tier.STABLE_SET: {Hazard.VOLATILE, Hazard.ORDER, Hazard.FLOAT},
        Tier.BEST_EFFORT: {Hazard.VOLATILE, Hazard.ORDER},
    }[tier]
    hazards = sorted({finding.hazard for finding in findings} & broken)
    if hazards:
        text = f"{tier} promises more than this query can keep: {', '.join(hazards)}"
        yield _finding(Hazard.TIER, "TIER", text)
