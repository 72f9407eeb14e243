"""Keeps what can raise after the filters and limits below it.

A physical plan of DataFusion may compute the columns of a SELECT before its WHERE if this leaves
fewer columns to filter. `SELECT id, a / (id - 3) * b FROM t WHERE id > 3` then divides by zero
at a row that Spark never divides. It does so only while the columns of the filter are plain columns
of the SELECT, so that calls of a kernel in their place prevent it.
"""

import re
from collections.abc import Callable
from typing import Any

from datafusion import DataFrame

from headrace.pipeline.translation.kernel import PREFIX
from headrace.pipeline.translation.typed import Typed, call

_COMPUTED = re.compile(r"@\d+(?! as )")
"""A column in an expression of a physical projection; a plain column is `name@0 as name`."""
_EARLY = "join_proj_push_down_"
"""The name of a column that a nested loop join computes before it joins."""
_CHOICES = re.compile(r"(?:WHEN|ELSE) (?:(?!WHEN|ELSE|END).)*(?=WHEN|ELSE|END)")
"""A branch of a CASE with its condition."""
_NULL_TESTS = re.compile(rf"IS NOT NULL as ({_EARLY}\d+)")
_PASSING = ("Filter", "Sort", "Repartition", "SubqueryAlias", "Coalesce", "Cooperative")
"""Operators of both kinds of plans whose rows are rows of their input, as they are."""


def in_place(value: Typed) -> Typed:
    """Return a value that is no plain column."""
    return value if value.is_literal else call("same", value.type, value, can_fail=value.can_fail)


def computes_before_selecting(frame: DataFrame) -> bool:
    """Return whether a physical plan computes expressions for rows that the logical one drops.

    A nested loop join also computes what a condition in its filter protects, before it joins.
    """
    if _computes_before_joining(frame.execution_plan()):
        return True
    physical = _computed_below(
        frame.execution_plan(),
        inputs=lambda node: node.children(),
        computes=_is_computing_exec,
    )
    if physical == _NOWHERE:
        return False
    logical = _computed_below(
        frame.optimized_logical_plan(),
        inputs=lambda node: node.inputs(),
        computes=_is_computing_projection,
    )
    return any(actual > planned for actual, planned in zip(physical, logical, strict=True))


def _computed_below(
    plan: Any, *, inputs: Callable[[Any], list[Any]], computes: Callable[[Any], bool]
) -> tuple[int, int]:
    """Return how often something is computed below a filter, and below a sort with a limit."""
    filtered = limited = 0
    waiting = [(plan, 0, 0)]
    while waiting:
        node, filters, limits = waiting.pop()
        text = node.display().strip()
        if computes(node):
            filtered, limited = filtered + filters, limited + limits
        if text.startswith(_PASSING):
            filters += text.startswith("Filter")
            limits += text.startswith("Sort") and "fetch=" in text
        else:
            filters = limits = 0
        waiting += [(child, filters, limits) for child in inputs(node)]
    return filtered, limited


def _computes_before_joining(plan: Any) -> bool:
    text = plan.display().strip()
    if text.startswith("NestedLoopJoinExec"):
        computed = "".join(child.display() for child in plan.children())
        for name in _NULL_TESTS.findall(computed):
            text = re.sub(rf"{name}@\d+", "IS NOT NULL", text)
        # Where another column is null, computing a value early only repeats what Spark computes.
        choices = (choice for choice in _CHOICES.findall(text) if "IS NOT NULL THEN" not in choice)
        if PREFIX in computed and any(_EARLY in choice for choice in choices):
            return True
    return any(map(_computes_before_joining, plan.children()))


def _is_computing_exec(node: Any) -> bool:
    text = node.display().strip()
    return text.startswith("ProjectionExec") and bool(_COMPUTED.search(text))


def _is_computing_projection(node: Any) -> bool:
    if not node.display().startswith("Projection"):
        return False
    return not all(_is_plain(value) for value in node.to_variant().projections())


def _is_plain(value: Any) -> bool:
    kind = value.variant_name()
    return kind in ("Column", "Literal") or (
        kind == "Alias" and _is_plain(value.to_variant().expr())
    )


_NOWHERE = (0, 0)
