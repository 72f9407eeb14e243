"""Kernels for variance, covariance, correlation and regression, row by row, as one Spark task.

The last digits of the results depend on the row order, so these kernels follow Spark's update
formulas and its final merge into an empty buffer, not those of a library.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, row_ordered_kernel
from headrace.pipeline.translation.kernels.number import SparkArithmeticError

Pair = tuple[float, float]
Divide = Callable[[float, float], float | None]
RAISE = "raise"
"""The parameter with which a division by zero is an error, as in ANSI mode, and not null."""


class Moments(msgspec.Struct):
    """The count, the mean and the central moments of doubles."""

    count: float = 0.0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> "Moments":
        """Update the moments value by value."""
        count = mean = second = third = fourth = 0.0
        for value in values:
            count += 1.0
            delta = value - mean
            share = delta / count
            mean += share
            second += delta * (delta - share)
            delta_squared, share_squared = delta * delta, share * share
            third = third - 3.0 * share * second + delta * (delta_squared - share_squared)
            fourth = (
                fourth
                - 4.0 * share * third
                - 6.0 * share_squared * second
                + delta * (delta * delta_squared - share * share_squared)
            )
        return cls(count, mean, second, third, fourth)


class Covariance(msgspec.Struct):
    """The count, the means and the co-moment of pairs, and the second moments of both sides."""

    count: float = 0.0
    left_mean: float = 0.0
    right_mean: float = 0.0
    joint: float = 0.0
    left_second: float = 0.0
    right_second: float = 0.0

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Covariance":
        """Update the moments pair by pair, then merge them into an empty buffer."""
        count = left_mean = right_mean = joint = left_second = right_second = 0.0
        for left, right in pairs:
            count += 1.0
            left_delta, right_delta = left - left_mean, right - right_mean
            left_mean += left_delta / count
            right_mean += right_delta / count
            joint += left_delta * (right - right_mean)
            left_second += left_delta * (left - left_mean)
            right_second += right_delta * (right - right_mean)
        if count:
            left_mean = left_mean / count * count
            right_mean = right_mean / count * count
        return cls(count, left_mean, right_mean, joint, left_second, right_second)


def _quotient(dividend: float, divisor: float) -> float | None:
    return dividend / divisor if divisor else None


def _checked_quotient(dividend: float, divisor: float) -> float:
    """Divide as Spark does in ANSI mode: a product of tiny moments underflows to zero."""
    if not divisor:
        raise SparkArithmeticError("division by zero")
    return dividend / divisor


def _root(value: float | None) -> float | None:
    if value is None:
        return None
    return math.sqrt(value) if value >= 0 else math.nan


def _skewness(of: Moments, divide: Divide) -> float | None:
    spread = _root(of.second * of.second * of.second)
    if not of.second or spread is None:
        return None
    return divide(math.sqrt(of.count) * of.third, spread)


def _kurtosis(of: Moments, divide: Divide) -> float | None:
    if not of.second:
        return None
    quotient = divide(of.count * of.fourth, of.second * of.second)
    return None if quotient is None else quotient - 3.0


_OF_VALUES: dict[str, Callable[[Moments, Divide], float | None]] = {
    "var_pop": lambda m, _: m.second / m.count,
    "var_samp": lambda m, _: _quotient(m.second, m.count - 1.0),
    "stddev_pop": lambda m, _: _root(m.second / m.count),
    "stddev_samp": lambda m, _: _root(_quotient(m.second, m.count - 1.0)),
    "skewness": _skewness,
    "kurtosis": _kurtosis,
    "second": lambda m, _: m.second,
}


def _correlation(of: Covariance, divide: Divide) -> float | None:
    """Return the correlation; null if a side is constant, even if the other has NaN."""
    if of.count == 1.0 or not of.left_second or not of.right_second:
        return None
    return divide(of.joint, _root(of.left_second * of.right_second) or 0.0)


def _determination(of: Covariance, divide: Divide) -> float | None:
    """Return the squared correlation of y and x; null if x is constant, and 1 if y is."""
    if not of.right_second:
        return None
    if not of.left_second:
        return 1.0
    correlation = divide(of.joint, _root(of.left_second * of.right_second) or 0.0)
    return None if correlation is None else correlation * correlation


_OF_PAIRS: dict[str, Callable[[Covariance, Divide], float | None]] = {
    "covar_pop": lambda c, _: c.joint / c.count,
    "covar_samp": lambda c, _: _quotient(c.joint, c.count - 1.0),
    "corr": _correlation,
    "determination": _determination,
    "joint": lambda c, _: c.joint,
}


def _division(call: KernelCall) -> Divide:
    return _checked_quotient if RAISE in call.parameters[1:] else _quotient


@row_ordered_kernel
def moment(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Compute the statistic that the parameter names, over the values of each group."""
    finish, divide = _OF_VALUES[call.parameters[0]], _division(call)
    results = []
    for group in rows.to_pylist():
        values = [value for value in group or () if value is not None]
        results.append(finish(Moments.of(values), divide) if values else None)
    return pa.array(results, call.gives, from_pandas=False)


@row_ordered_kernel
def pair_moment(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Compute the statistic that the parameter names, over the pairs of each group.

    A pair counts only if neither side is null.
    """
    finish, divide = _OF_PAIRS[call.parameters[0]], _division(call)
    pairs_by_group = map(_pairs, rows.to_pylist())
    results = [finish(Covariance.of(pairs), divide) if pairs else None for pairs in pairs_by_group]
    return pa.array(results, call.gives, from_pandas=False)


@row_ordered_kernel
def regression(call: KernelCall, rows: pa.Array) -> pa.Array:
    """Compute the slope or the intercept of the line through pairs of x and y."""
    wants_slope = call.parameters[0] == "slope"
    results: list[float | None] = []
    for group in rows.to_pylist():
        pairs = _pairs(group)
        covariance = Covariance.of(pairs)
        slope = _quotient(covariance.joint, Moments.of(x for x, _ in pairs).second)
        if wants_slope or slope is None:
            results.append(slope)
        else:
            results.append(covariance.right_mean - slope * covariance.left_mean)
    return pa.array(results, call.gives, from_pandas=False)


def _pairs(group: list[dict[str, Any] | None] | None) -> list[Pair]:
    sides = [(pair["c0"], pair["c1"]) for pair in group or () if pair is not None]
    return [(left, right) for left, right in sides if left is not None and right is not None]
