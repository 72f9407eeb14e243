"""Catalogue of statistics of doubles: variance, covariance, correlation and regression."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.collection import struct_of
from headrace.pipeline.translation.catalogue.over import AggregateEntry, Build, Over, gather
from headrace.pipeline.translation.evaluation import in_order
from headrace.pipeline.translation.kernels.moment import RAISE
from headrace.pipeline.translation.typed import Typed, call

_DIVIDED = frozenset({"skewness", "kurtosis", "corr", "determination"})
"""Statistics whose divisor is a product of moments, which may underflow to zero."""


def _statistic(casts: Casts, kernel: str, name: str, values: Typed) -> Typed:
    fails = casts.ansi and name in _DIVIDED
    parameters = (name, RAISE) if fails else (name,)
    return call(kernel, t.DOUBLE, values, parameters=parameters, can_fail=fails)


def _of_values(statistic: str) -> Build:
    def build(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        doubles = _doubles(casts, over, arguments)
        values = None if doubles is None else gather(over, doubles[0])
        return None if values is None else _statistic(casts, "moment", statistic, values)

    return build


def _of_pairs(kernel: str, statistic: str, *, x_first: bool = False) -> Build:
    """Return a statistic of two columns; regression functions are written `f(y, x)`."""

    def build(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        doubles = _doubles(casts, over, arguments)
        if doubles is None:
            return None
        pair = struct_of(["c0", "c1"], doubles[::-1] if x_first else doubles)
        pairs = gather(over, pair)
        return None if pairs is None else _statistic(casts, kernel, statistic, pairs)

    return build


def _of_side(place: int, kernel: str, *parameters: str) -> Build:
    """Return a statistic of one column, over the rows in which neither column is null."""

    def build(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        doubles = _doubles(casts, over, arguments)
        is_average = kernel == "double_sum"
        if doubles is None or (is_average and t.is_decimal(arguments[place].type)):
            return None  # Spark averages decimals as decimals
        values = gather(over, _where_both(doubles, doubles[place].text, t.DOUBLE))
        if values is None:
            return None
        return call(kernel, t.DOUBLE, values, parameters=parameters)

    return build


def _pair_count(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    doubles = _doubles(casts, over, arguments)
    return None if doubles is None else over.call("count", _where_both(doubles, "1", t.INT), t.LONG)


def _where_both(doubles: Sequence[Typed], text: str, kind: pa.DataType) -> Typed:
    """Return a value where neither column is null, otherwise null."""
    present = " AND ".join(f"{double.text} IS NOT NULL" for double in doubles)
    fails = any(double.can_fail for double in doubles)
    return Typed(f"CASE WHEN {present} THEN {text} END", kind, can_fail=fails)


def _doubles(casts: Casts, over: Over, arguments: Sequence[Typed]) -> list[Typed] | None:
    if over.distinct or not all(t.is_numeric(a.type) or a.type == t.VOID for a in arguments):
        return None
    doubles = [casts.cast(argument, t.DOUBLE) for argument in arguments]
    present = [double for double in doubles if double is not None]
    if any(double.is_null for double in present):  # Spark evaluates nothing next to a null constant
        present = in_order(*present)
    # Spark also evaluates the arguments for rows that FILTER excludes.
    is_evaluated = over.condition is not None and any(double.can_fail for double in present)
    return present if len(present) == len(arguments) and not is_evaluated else None


def _one_column(names: str, statistic: str) -> list[AggregateEntry]:
    how = f"kernel moment: {statistic}, row by row"
    build = _of_values(statistic)
    return [
        AggregateEntry(name=name, takes="NUMERIC", how=how, build=build) for name in names.split()
    ]


def _two_columns(name: str, how: str, build: Build) -> AggregateEntry:
    return AggregateEntry(
        name=name, takes="NUMERIC NUMERIC", how=f"{how}, row by row", build=build, least=2, most=2
    )


MOMENT: list[AggregateEntry] = [
    *_one_column("var_pop", "var_pop"),
    *_one_column("var_samp variance", "var_samp"),
    *_one_column("stddev_pop", "stddev_pop"),
    *_one_column("stddev_samp stddev std", "stddev_samp"),
    *_one_column("skewness", "skewness"),
    *_one_column("kurtosis", "kurtosis"),
    _two_columns("covar_pop", "kernel pair_moment", _of_pairs("pair_moment", "covar_pop")),
    _two_columns("covar_samp", "kernel pair_moment", _of_pairs("pair_moment", "covar_samp")),
    _two_columns("corr", "kernel pair_moment", _of_pairs("pair_moment", "corr")),
    _two_columns("regr_r2", "kernel pair_moment", _of_pairs("pair_moment", "determination")),
    _two_columns("regr_sxy", "kernel pair_moment", _of_pairs("pair_moment", "joint")),
    _two_columns("regr_syy", "kernel moment", _of_side(0, "moment", "second")),
    _two_columns("regr_sxx", "kernel moment", _of_side(1, "moment", "second")),
    _two_columns("regr_avgy", "kernel double_sum", _of_side(0, "double_sum", "average")),
    _two_columns("regr_avgx", "kernel double_sum", _of_side(1, "double_sum", "average")),
    _two_columns("regr_count", "count", _pair_count),
    _two_columns("regr_slope", "kernel regression", _of_pairs("regression", "slope", x_first=True)),
    _two_columns("regr_intercept", "kernel regression",
         _of_pairs("regression", "intercept", x_first=True)),
]  # fmt: skip
"""Their last digits depend on the row order, on Spark as well."""
