"""Catalogue of aggregates, over groups and over windows."""

import re
from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.double import double_sum
from headrace.pipeline.translation.catalogue.gathered import GATHERED
from headrace.pipeline.translation.catalogue.moment import MOMENT
from headrace.pipeline.translation.catalogue.over import AggregateEntry, Build, Over, gather
from headrace.pipeline.translation.catalogue.variant import VARIANT_AGGREGATES
from headrace.pipeline.translation.typed import Typed, call, is_known_present, null_of, sql_cast

_SAFE_DIGITS = 28
"""A decimal with at most this many digits can be summed ten billion times."""
_COUNT = pa.decimal128(20, 0)
_HALF_SUM = pa.decimal128(30, 0)
_SLIDING = re.compile(r"BETWEEN (\d|CURRENT)")
"""A frame whose first row moves."""


def _count(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    if not arguments:
        return over.call("count", None, t.LONG)
    if len(arguments) > 1:
        if over.distinct:
            return None
        all_present = " AND ".join(f"{a.text} IS NOT NULL" for a in arguments)
        marker = Typed(f"CASE WHEN {all_present} THEN 1 END", t.INT)
        return over.call("count", marker, t.LONG)
    (value,) = arguments
    if value.can_fail and is_known_present(value) and not over.distinct:
        return over.call("count", Typed("1", t.INT), t.LONG)  # as Spark does
    if over.distinct:
        if not t.is_orderable(value.type):
            return None
        if t.is_float(value.type):
            value = call("normal", value.type, value)
    return over.call("count", value, t.LONG)


def _sum(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if value.type == t.VOID:
        return over.call("sum", null_of(t.DOUBLE), t.DOUBLE)
    if value.type == t.LONG:
        if not casts.ansi:
            return over.call("sum", value, t.LONG)
        wide = Typed(sql_cast(value.text, pa.decimal128(20, 0)), t.LONG, can_fail=value.can_fail)
        total = over.call("sum", wide, t.LONG)
        return Typed(sql_cast(total.text, t.LONG), t.LONG, can_fail=True)
    if t.is_integer(value.type):
        whole = casts.cast(value, t.LONG)
        return None if whole is None else over.call("sum", whole, t.LONG)
    if t.is_decimal(value.type):
        return _decimal_sum(over, value)
    if t.is_float(value.type):
        double = casts.cast(value, t.DOUBLE)
        return None if double is None else double_sum(over, double, average=False)
    return None


def _try_sum(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if value.type != t.LONG:
        is_safe = not t.is_decimal(value.type) or value.type.precision <= _SAFE_DIGITS
        return _sum(casts, over, arguments) if is_safe else None
    wide = Typed(sql_cast(value.text, _COUNT), t.LONG, can_fail=value.can_fail)
    total = over.call("sum", wide, t.LONG)
    return Typed(f"TRY_CAST({total.text} AS BIGINT)", t.LONG, can_fail=value.can_fail)


def _decimal_sum(over: Over, value: Typed) -> Typed | None:
    kind = t.decimal(value.type.precision + 10, value.type.scale)
    if value.type.precision <= _SAFE_DIGITS:
        total = over.call("sum", value, kind)
        return Typed(sql_cast(total.text, kind), kind, can_fail=total.can_fail)
    if over.distinct:
        return None
    if over.in_groups and over.window is None:  # Spark checks the sum after each row
        values = gather(over, value)
        return None if values is None else call("stepwise_sum", kind, values, can_fail=True)
    halves = (call(f"{half}_half", _COUNT, value) for half in ("upper", "lower"))
    sums = (over.call("sum", half, _HALF_SUM) for half in halves)
    exact = (Typed(sql_cast(half.text, _HALF_SUM), _HALF_SUM) for half in sums)
    return call("joined_halves", kind, *exact, can_fail=True)


def _average(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if t.is_decimal(value.type):
        kind = t.decimal(value.type.precision + 4, value.type.scale + 4)
        if value.type.precision + 4 > t.MOST_DIGITS:
            return None
        counted = over.call("count", value, t.LONG)
        as_decimal = sql_cast(counted.text, _COUNT)
        count = Typed(f"CASE WHEN {counted.text} = 0 THEN NULL ELSE {as_decimal} END", _COUNT)
        total = _decimal_sum(over, value)
        return None if total is None else call("decimal_divide", kind, total, count)
    if t.is_numeric(value.type):
        wide = casts.cast(value, t.DOUBLE)
        if wide is None:
            return None
        if t.is_float(value.type) or value.type == t.LONG:
            return double_sum(over, wide, average=True)
        return over.call("avg", wide, t.DOUBLE)  # sums of smaller numbers are exact
    return None


def _try_average(casts: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    return None if t.is_decimal(arguments[0].type) else _average(casts, over, arguments)


def _extreme(name: str) -> Build:
    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (value,) = arguments
        if not t.is_orderable(value.type) or value.type == t.BINARY:
            return None
        over = Over(condition=over.condition, window=over.window)
        if not t.is_float(value.type):
            return over.call(name, value, value.type)
        order = call("float_order", t.LONG, value)
        return call("float_value", value.type, over.call(name, order, t.LONG))

    return build


def _boolean(name: str) -> Build:
    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (value,) = arguments
        if value.type != t.BOOLEAN:
            return None
        if over.window is not None and _SLIDING.search(over.window):  # DataFusion cannot slide it
            return None
        return Over(condition=over.condition, window=over.window).call(name, value, t.BOOLEAN)

    return build


def _count_if(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    (value,) = arguments
    if value.type != t.BOOLEAN or over.distinct:
        return None
    return over.call("count", Typed(f"CASE WHEN {value.text} THEN 1 END", t.INT), t.LONG)


def _bits(name: str) -> Build:
    def build(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
        (value,) = arguments
        if not t.is_integer(value.type):
            return None
        if over.distinct and name == "bit_xor":  # DataFusion ignores the DISTINCT
            return None
        if over.window is not None and _SLIDING.search(over.window):  # not in DataFusion
            return None
        plain = Over(condition=over.condition, window=over.window)
        return plain.call(name, value, value.type)

    return build


def _entry(names: str, takes: str, how: str, build: Build) -> list[AggregateEntry]:
    least, most = (0, 100) if names == "count" else (1, 1)
    return [
        AggregateEntry(name=n, takes=takes, how=how, build=build, least=least, most=most)
        for n in names.split()
    ]


_ENTRIES = [
    *_entry("count", "[ANY...]", "count", _count),
    *_entry("sum", "NUMERIC", "sum, checked", _sum),
    *_entry("avg mean", "NUMERIC", "avg; of decimals sum / count, rounded half up", _average),
    *_entry("max", "ANY", "max; NaN is the greatest", _extreme("max")),
    *_entry("min", "ANY", "min; NaN is the greatest", _extreme("min")),
    *_entry("every bool_and", "BOOLEAN", "bool_and", _boolean("bool_and")),
    *_entry("any some bool_or", "BOOLEAN", "bool_or", _boolean("bool_or")),
    *_entry("count_if", "BOOLEAN", "count", _count_if),
    *_entry("bit_and", "INTEGER", "bit_and", _bits("bit_and")),
    *_entry("bit_or", "INTEGER", "bit_or", _bits("bit_or")),
    *_entry("bit_xor", "INTEGER", "bit_xor", _bits("bit_xor")),
    *_entry("try_sum", "NUMERIC", "sum; null beyond the type", _try_sum),
    *_entry("try_avg", "NUMERIC", "avg", _try_average),
    *GATHERED,
    *MOMENT,
    *VARIANT_AGGREGATES,
]
AGGREGATES: dict[str, AggregateEntry] = {entry.name: entry for entry in _ENTRIES}
RANKS = {"row_number": t.INT, "rank": t.INT, "dense_rank": t.INT, "percent_rank": t.DOUBLE,
         "cume_dist": t.DOUBLE}  # fmt: skip
"""Window functions without arguments, with their result types."""
