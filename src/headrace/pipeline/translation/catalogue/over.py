"""How an aggregate is applied, and an entry of the catalogue of aggregates."""

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.typed import Typed, call, case


class Over(msgspec.Struct, frozen=True):
    """How an aggregate is applied: to which values, and over which window."""

    distinct: bool = False
    condition: str | None = None
    window: str | None = None
    order: tuple[Typed, bool] | None = None
    """The key of WITHIN GROUP (ORDER BY), and whether it is descending."""
    any_order: bool = False
    """Whether the values of an array may be in any order."""
    in_groups: bool = False
    """Whether the query has GROUP BY."""

    def call(self, function: str, argument: Typed | None, kind: pa.DataType) -> Typed:
        """Call a DataFusion aggregate; all that are used ignore nulls."""
        if argument is None:
            inner = "1" if self.condition is None else f"CASE WHEN {self.condition} THEN 1 END"
            can_fail = False
        else:
            if self.distinct and t.is_float(argument.type):
                argument = call("normal", argument.type, argument)
            inner, can_fail = argument.text, argument.can_fail
            if self.condition is not None:
                branch = (self.condition, inner)
                inner = case(argument.type, branch, can_fail=can_fail).text
        word = "DISTINCT " if self.distinct else ""
        over = "" if self.window is None else f" OVER ({self.window})"
        return Typed(f"{function}({word}{inner}){over}", kind, can_fail=can_fail)


def gather(over: Over, value: Typed) -> Typed | None:
    """Collect all values of a group as an array, with null where a condition is false."""
    if over.window is not None:
        return None
    return over.call("array_agg", value, t.array_of(value.type))


Build = Callable[[Casts, Over, Sequence[Typed]], Typed | None]


class AggregateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An aggregate for certain types."""

    name: str
    takes: str
    how: str
    build: Build
    least: int = 1
    most: int = 1
    """How many arguments it takes."""
    columns: int = 100
    """How many of them, from the first, may vary by row."""

    @property
    def is_ordered(self) -> bool:
        """Return whether it takes WITHIN GROUP."""
        return "WITHIN GROUP" in self.takes or self.name == "mode"
