"""Literals as Spark types them, casts of them, and intervals."""

import re
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import arrow_type, type_text
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiler, known
from headrace.pipeline.translation.operator import negate, shift_date
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.syntax import string_value
from headrace.pipeline.translation.typed import Typed, literal_int, literal_text, quoted, sql_cast

_UNITS_US = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000,
    "hour": 3_600_000_000, "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
_UNITS_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def is_number_literal(node: exp.Expr) -> bool:
    """Whether a node is a number as it is written."""
    return isinstance(node, exp.Literal) and not node.is_string


def ordinal(node: exp.Expr) -> int | None:
    """The place in the SELECT list that an INT stands for in GROUP BY and ORDER BY."""
    if not isinstance(node, exp.Literal) or not node.is_int:
        return None
    place = int(node.name)
    return place if place < 1 << (t.INT.bit_width - 1) else None


def literal(compiler: Compiler, node: exp.Expr) -> Typed:
    """A number or a text as it is written."""
    if isinstance(node, exp.RawString | exp.National):
        return literal_text(node.name)
    if node.args.get("is_string"):
        start = node.meta.get("start")
        if start is None:
            return literal_text(node.name)
        return literal_text(string_value(compiler.sql[start : node.meta["end"] + 1]))
    return number(node.name)


def number(digits: str) -> Typed:
    """A number as Spark types it: INT, BIGINT, DECIMAL, or DOUBLE if it has an exponent."""
    if "e" in digits.casefold():
        text = sql_cast(quoted(digits), t.DOUBLE)
        return Typed(text, t.DOUBLE, is_literal=True, value=float(digits))
    value = Decimal(digits)
    if "." not in digits:
        whole = int(digits)
        for kind in (t.INT, t.LONG):
            if -(1 << (kind.bit_width - 1)) <= whole < 1 << (kind.bit_width - 1):
                return literal_int(whole, kind)
    sign, figures, exponent = value.as_tuple()
    del sign
    scale = -int(exponent) if isinstance(exponent, int) and exponent < 0 else 0
    kind = pa.decimal128(max(len(figures), scale, 1), scale)
    text = sql_cast(quoted(digits), kind)
    return Typed(text, kind, is_literal=True, value=value)


def negation(compiler: Compiler, node: exp.Neg, scope: Scope) -> Typed:
    """Minus; before a number it is part of the number."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number(f"-{inner.name}")
    if isinstance(inner, exp.Cast) and is_number_literal(inner.this):
        return _cast_literal(compiler, f"-{inner.this.name}", inner, node)
    value = compiler.value(inner, scope)
    return known(negate(compiler.casts, value), node, value)


def cast_value(compiler: Compiler, node: exp.Cast, scope: Scope) -> Typed:
    """CAST and TRY_CAST."""
    if is_number_literal(node.this) and not isinstance(node, exp.TryCast):
        return _cast_literal(compiler, node.this.name, node, node)
    value = compiler.value(node.this, scope)
    kind = _target(node)
    soft = isinstance(node, exp.TryCast)
    found = compiler.casts.cast(value, kind, soft=soft)
    if found is None:
        reason = f"the catalogue has no cast from {type_text(value.type)} to {type_text(kind)}"
        raise unsupported(node, reason)
    return found


def _cast_literal(compiler: Compiler, digits: str, cast: exp.Cast, node: exp.Expr) -> Typed:
    kind = _target(cast)
    if kind in (t.DOUBLE, t.FLOAT):
        return Typed(sql_cast(quoted(digits), kind), kind, is_literal=True, value=float(digits))
    found = compiler.casts.cast(number(digits), kind)
    return known(found, node)


def _target(node: exp.Cast) -> pa.DataType:
    kind = node.to
    if kind.this in {exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR}:
        raise unsupported(node, "the catalogue has no VARCHAR and CHAR")
    try:
        return arrow_type(kind)
    except ValueError as error:
        raise unsupported(node, str(error)) from error


def shift(
    compiler: Compiler, node: exp.Expr, date: exp.Expr, interval: exp.Interval, scope: Scope
) -> Typed:
    """A date or time plus or minus an interval."""
    length = _length(interval)
    if length is None:
        raise unsupported(node, "the catalogue has only intervals of one unit")
    sign = -1 if isinstance(node, exp.Sub) else 1
    value = compiler.value(date, scope)
    months, micros = (sign * part for part in length)
    return known(shift_date(compiler.casts, value, months, micros), node, value)


def _length(node: exp.Interval) -> tuple[int, int] | None:
    """Months and microseconds of an interval; None if it is not of one unit."""
    unit, amount = node.args.get("unit"), node.this
    if isinstance(amount, exp.Neg):
        amount = exp.Literal.number(f"-{amount.this.name}")
    if not isinstance(unit, exp.Var) or not isinstance(amount, exp.Literal):
        return None
    if not re.fullmatch(r"[+-]?\d+", amount.name):
        return None
    name = unit.name.casefold().removesuffix("s")
    count = int(amount.name)
    if name in _UNITS_MONTHS:
        return count * _UNITS_MONTHS[name], 0
    return (0, count * _UNITS_US[name]) if name in _UNITS_US else None
