"""Translates sums of doubles, which depend on the order of addition."""

import re

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.over import Over
from headrace.pipeline.translation.typed import Typed, call

_RUNNING = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_BOUND = r"(\d+ (PRECEDING|FOLLOWING)|CURRENT ROW)"
_NARROW = re.compile(f"ROWS BETWEEN {_BOUND} AND {_BOUND}$")


def double_sum(over: Over, value: Typed, *, average: bool) -> Typed | None:
    """Return the sum or the average of doubles, added one by one."""
    if over.distinct:
        return None
    window = over.window
    if window is not None and window.endswith(_RUNNING):
        return over.call("avg" if average else "sum", value, t.DOUBLE)
    if window is not None and _NARROW.search(window) is None:
        return None
    values = over.call("array_agg", value, t.array_of(t.DOUBLE))
    return call("double_sum", t.DOUBLE, values, parameters=("average",) if average else ())
