"""Catalogue of transcendental functions where Java's specification fixes the result.

Elsewhere the last digit depends on the Java that runs Spark, so nothing can be proven.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_kernel, by_rule
from headrace.pipeline.translation.typed import Typed, null_of, quoted, sql_cast

Special = Callable[[float], float | None]
"""Returns the fixed result for a value; None if it is not fixed."""


def _at(
    points: dict[float, float], *, is_outside: Callable[[float], bool] | None = None
) -> Special:
    """Return results at some points, and NaN outside the function's domain."""

    def special(value: float) -> float | None:
        if math.isnan(value) or (is_outside is not None and is_outside(value)):
            return math.nan
        return points.get(value)

    return special


def _log10(value: float) -> float | None:
    exponent = len(str(int(value))) - 1 if value >= 1 and math.isfinite(value) else -1
    return float(exponent) if exponent >= 0 and Fraction(value) == 10**exponent else None


_ZERO = _at({0.0: 0.0})
_ONE = _at({0.0: 1.0})
_SPECIAL: dict[str, Special] = {
    **dict.fromkeys(("sin", "tan", "atan", "sinh", "tanh", "expm1", "asinh"), _ZERO),
    **dict.fromkeys(("cos", "cosh", "exp", "sec"), _ONE),
    "asin": _at({0.0: 0.0}, is_outside=lambda x: abs(x) > 1),
    "acos": _at({1.0: 0.0}, is_outside=lambda x: abs(x) > 1),
    "acosh": _at({1.0: 0.0}, is_outside=lambda x: x < 1),
    "atanh": _at({0.0: 0.0}, is_outside=lambda x: abs(x) > 1),
}
_LOGARITHMS: dict[str, tuple[float, Special]] = {
    "ln": (0.0, _at({1.0: 0.0})),
    "log": (0.0, _at({1.0: 0.0})),
    "log2": (0.0, _at({1.0: 0.0, 2.0: 1.0})),
    "log10": (0.0, _log10),
    "log1p": (-1.0, _at({0.0: 0.0})),
}
"""By name: the bound at and below which Spark returns null, and the results."""


def _number(value: Typed) -> float | None:
    """Return the value of a numeric literal as a double; None for anything else."""
    is_number = isinstance(value.value, int | float | Decimal)
    return float(value.value) if is_number else None


def _double(result: float | None) -> Typed | None:
    if result is None:
        return None
    text = sql_cast(quoted(str(result)), t.DOUBLE)
    return Typed(text, t.DOUBLE, is_literal=True, value=result)


def _fixed(special: Special) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        number = _number(arguments[0])
        is_minus_zero = number == 0 and math.copysign(1, number) < 0
        return None if number is None or is_minus_zero else _double(special(number))

    return build


def _logarithm(bound: float, special: Special) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        number = _number(arguments[0])
        if number is None:
            return None
        return null_of(t.DOUBLE) if number <= bound else _double(special(number))

    return build


SPECIAL_VALUE: list[Entry] = [
    *(
        by_rule(name, "NUMERIC!", t.DOUBLE, "a constant, where it is fixed", _fixed(special))
        for name, special in _SPECIAL.items()
    ),
    *(
        by_rule(name, "NUMERIC!", t.DOUBLE, "a constant, where it is fixed", _logarithm(*rule))
        for name, rule in _LOGARITHMS.items()
    ),
    *(
        by_kernel(name, "INTEGER INTEGER", t.DOUBLE, "exact_power", can_fail=True)
        for name in ("pow", "power")
    ),
]
