"""Translates literals with Spark's types, casts of them, and intervals.

Strings are decoded from the query text as Spark reads them, not taken from the parser.
"""

import re
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import arrow_type, type_text
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.compiler import Compiler, or_refuse
from headrace.pipeline.translation.interval import literal_interval
from headrace.pipeline.translation.interval_type import TIME_OF_DAY
from headrace.pipeline.translation.operator import negate
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.syntax import string_value
from headrace.pipeline.translation.typed import (
    Typed,
    computed,
    literal_int,
    literal_text,
    quoted,
    sql_cast,
)

CASTING_NAMES = frozenset(
    {"bigint", "tinyint", "smallint", "int", "double", "float", "boolean", "string", "binary"}
)
"""Types whose names are also functions that cast to them."""


def is_number_literal(node: exp.Expr) -> bool:
    """Return whether a node is a numeric literal."""
    return isinstance(node, exp.Literal) and not node.is_string


def ordinal(node: exp.Expr) -> int | None:
    """Return the position in the SELECT list that an INT means in GROUP BY and ORDER BY."""
    inner = node.unnest()
    is_negative = isinstance(inner, exp.Neg)
    digits = inner.this if is_negative else inner
    if not isinstance(digits, exp.Literal) or not digits.is_int:
        return None
    place = -int(digits.name) if is_negative else int(digits.name)
    limit = 1 << (t.INT.bit_width - 1)
    return place if -limit <= place < limit else None


def literal(compiler: Compiler, node: exp.Expr) -> Typed:
    """Compile a number or string literal."""
    if isinstance(node, exp.RawString | exp.National):
        return literal_text(node.name)
    if node.args.get("is_string"):
        start = node.meta.get("start")
        if start is None:
            return literal_text(node.name)
        return literal_text(string_value(compiler.sql[start : node.meta["end"] + 1]))
    return number(node.name)


def number(digits: str) -> Typed:
    """Type a number as Spark does: INT, BIGINT, DECIMAL, or DOUBLE if it has an exponent."""
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
    """Compile unary minus; before a number it is part of the number."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number(f"-{inner.name}")
    if (
        isinstance(inner, exp.Cast)
        and is_number_literal(inner.this)
        and _has_suffix(compiler, inner.this)
    ):
        return _cast_literal(compiler, f"-{inner.this.name}", inner, node)
    if isinstance(inner, exp.Cast) and _is_decimal_literal(inner):
        value = literal_text(f"-{inner.this.name}")
        return or_refuse(compiler.casts.cast(value, _target(inner)), node, value)
    value = compiler.value(inner, scope)
    return or_refuse(negate(compiler.casts, value), node, value)


def _is_decimal_literal(node: exp.Cast) -> bool:
    """Return whether a cast is a number with the suffix BD: its text has no place in the query."""
    text = node.this
    return isinstance(text, exp.Literal) and text.is_string and "start" not in text.meta


def cast_value(compiler: Compiler, node: exp.Cast, scope: Scope) -> Typed:
    """Compile CAST and TRY_CAST."""
    if is_number_literal(node.this) and not isinstance(node, exp.TryCast):
        number_cast = _cast_literal(compiler, node.this.name, node, node)
        is_literal = _has_suffix(compiler, node.this) or not t.is_integer(number_cast.type)
        return number_cast if is_literal else computed(number_cast)
    if node.to.this == exp.DataType.Type.TIME:
        return _time_of_day(compiler, node)
    value = compiler.value(node.this, scope)
    kind = _target(node)
    soft = isinstance(node, exp.TryCast)
    expression = compiler.casts.cast(value, kind, soft=soft)
    if expression is None:
        reason = f"the catalogue has no cast from {type_text(value.type)} to {type_text(kind)}"
        raise unsupported(node, reason)
    return computed(expression) if t.is_integer(kind) else expression


_SUFFIXED = re.compile(r"[\d.]+(?:[eE][+-]?\d+)?[a-zA-Z]")


def _has_suffix(compiler: Compiler, number: exp.Expr) -> bool:
    """Return whether a number has a type suffix: the parser reads `1Y` as a cast."""
    return _SUFFIXED.match(compiler.sql, number.meta["start"]) is not None


def _cast_literal(compiler: Compiler, digits: str, cast: exp.Cast, node: exp.Expr) -> Typed:
    kind = _target(cast)
    if kind in (t.DOUBLE, t.FLOAT):
        return Typed(sql_cast(quoted(digits), kind), kind, is_literal=True, value=float(digits))
    expression = compiler.casts.cast(number(digits), kind)
    return or_refuse(expression, node)


def _target(node: exp.Cast) -> pa.DataType:
    kind = node.to
    if kind.this in {exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR}:
        raise unsupported(node, "the catalogue has no VARCHAR and CHAR")
    try:
        return arrow_type(kind)
    except ValueError as error:
        raise unsupported(node, str(error)) from error


_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?", re.ASCII)


def _time_of_day(compiler: Compiler, node: exp.Cast) -> Typed:
    """Compile `TIME '10:00:00'`, which the parser reads as a cast that Spark lacks by default."""
    start = node.this.meta.get("start")
    before = "" if start is None else compiler.sql[:start].rstrip().casefold()
    match = _CLOCK.fullmatch(node.this.name) if before.endswith("time") else None
    if match is None:
        raise unsupported(node, "the catalogue has TIME only as a literal")
    hour, minute, second = map(int, match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004
        raise unsupported(node, "it is not a time of day")
    micros = (hour * 3600 + minute * 60 + second) * 1_000_000 + int((match[4] or "").ljust(6, "0"))
    return Typed(f"({sql_cast(str(micros), t.LONG)})", TIME_OF_DAY, is_literal=True, value=micros)


def interval(node: exp.Interval) -> Typed:
    """Compile an interval literal."""
    expression = literal_interval(node)
    if expression is None:
        raise unsupported(node, "the catalogue has no such interval")
    return expression
