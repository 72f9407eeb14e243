"""Casts: the pairs of types that DataFusion or a kernel casts exactly as Spark does.

A typed expression and a target type enter; the cast expression leaves, or None if there is no
proven translation.
"""

from decimal import Decimal

import msgspec
import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.kernels.time_text import parse_date
from headrace.pipeline.translation.time_cast import WallClock
from headrace.pipeline.translation.typed import (
    Typed,
    call,
    can_cast_natively,
    literal_days,
    literal_int,
    literal_micros,
    null_of,
    sql_cast,
)

_DOUBLE_DIGITS = 16
"""With this many digits, no decimal is nearer to a double of another whole number."""
_INT_SCALE = 6
"""Nor is one of INT's range with this many digits after the point."""


class Casts:
    """Casts under the settings of a project."""

    def __init__(self, *, ansi: bool, time_zone: str) -> None:
        """Take the settings that change the meaning of a cast."""
        self.ansi, self.time_zone = ansi, time_zone
        self.clock = WallClock(time_zone)
        self.fallible: list[tuple[Typed, Typed]] = []
        """The values whose cast may raise, each with its cast, in the order of translation."""

    def widen(self, value: Typed, to: pa.DataType) -> Typed | None:
        """Cast to a type that `common_type` returned: nothing can be lost."""
        return value if value.type == to else self.cast(value, to)

    def cast(self, value: Typed, to: pa.DataType, *, soft: bool = False) -> Typed | None:
        """Cast a value; None if the catalogue has no such cast.

        Args:
            value: The value.
            to: The type.
            soft: Whether a failing cast returns null, as TRY_CAST does.
        """
        expression = self._cast(value, to, soft=soft)
        if expression is not None and expression.can_fail:
            self.fallible.append((value, expression))
        if expression is None or expression.is_null == value.is_null or value.type == t.VOID:
            return expression
        return msgspec.structs.replace(expression, is_null=value.is_null)

    def _cast(self, value: Typed, to: pa.DataType, *, soft: bool) -> Typed | None:  # noqa: C901, PLR0912
        if value.type == to:
            return value
        if value.type == t.VOID:
            return null_of(to)
        if t.is_interval(value.type) or t.is_interval(to):
            is_wider = t.common_type(value.type, to) == to
            return msgspec.structs.replace(value, type=to) if is_wider else None
        is_try, soft = soft, soft or not self.ansi
        folded = self._folded(value, to)
        if folded is not None:
            return folded
        source = value.type
        if source == t.STRING:
            return self._from_text(value, to, soft=soft)
        if to == t.STRING:
            return self._to_text(value)
        if t.is_integer(source) and t.is_integer(to):
            if t.INTEGERS.index(to) > t.INTEGERS.index(source):
                return _plain(value, to)
            if soft:
                return self._lossy(value, to, "integer_to_integer", is_try=is_try)
            return _plain(value, to, can_fail=True)
        if t.is_integer(source) and to in (t.FLOAT, t.DOUBLE):
            return _plain(value, to)
        if t.is_integer(source) and t.is_decimal(to):
            fits = to.precision - to.scale >= t.as_decimal(source).precision
            if soft and not fits:
                return call("number_to_decimal", to, value, parameters=("soft",))
            return _plain(value, to, can_fail=not fits)
        if t.is_decimal(source) and t.is_decimal(to):
            whole = to.precision - to.scale - (source.precision - source.scale)
            fits = whole > 0 or (whole == 0 and to.scale >= source.scale)
            if soft and not fits:
                return call("number_to_decimal", to, value, parameters=("soft",))
            return _plain(value, to, can_fail=not fits)
        if t.is_decimal(source) and to == t.DOUBLE:
            return call("decimal_to_double", to, value)
        if t.is_decimal(source) and to == t.FLOAT:
            return call("decimal_to_float", to, value)
        if _is_truncated_by_chance(source, to) and (self.ansi or is_try):
            return None
        if t.is_decimal(source) and t.is_integer(to) and soft:
            return self._lossy(value, to, "decimal_to_integer", is_try=is_try)
        if t.is_decimal(source) and t.is_integer(to):
            whole_digits = pa.decimal128(t.MOST_DIGITS, 0)
            cut = call("decimal_round", whole_digits, value, parameters=("0", "ROUND_DOWN"))
            return Typed(sql_cast(cut.text, to), to, can_fail=True)
        if source == t.FLOAT and to == t.DOUBLE:
            return _plain(value, to)
        if source == t.DOUBLE and to == t.FLOAT:
            return call("double_to_float", to, value)
        if t.is_float(source) and t.is_integer(to):
            if soft:
                return self._lossy(value, to, "float_to_integer", is_try=is_try)
            return call("float_to_integer", to, value, parameters=("raise",), can_fail=True)
        if t.is_float(source) and t.is_decimal(to):
            parameters = ("soft",) if soft else ()
            return call("number_to_decimal", to, value, parameters=parameters, can_fail=not soft)
        if source == t.BOOLEAN and t.is_numeric(to):
            has_room = not t.is_decimal(to) or to.precision > to.scale
            return call("boolean_to_number", to, value) if has_room else None
        if t.is_numeric(source) and to == t.BOOLEAN:
            return call("number_to_boolean", to, value)
        return self.clock.cast(value, to)

    def _lossy(self, value: Typed, to: pa.DataType, kernel: str, *, is_try: bool) -> Typed:
        """Cast to an integer: what does not fit is null for TRY_CAST, otherwise truncated."""
        return call(kernel, to, value, parameters=("null" if is_try else "cut",))

    def _to_text(self, value: Typed) -> Typed | None:
        source = value.type
        if t.is_integer(source) or source == t.BOOLEAN:
            return _plain(value, t.STRING)
        if t.is_decimal(source) and (self.ansi or source.scale <= 6):  # noqa: PLR2004
            return _plain(value, t.STRING)
        if t.is_decimal(source):
            return call("decimal_to_text", t.STRING, value)
        if t.is_float(source):
            return call("float_to_text", t.STRING, value)
        if source == t.BINARY:
            return call("binary_to_text", t.STRING, value, can_fail=True)
        if source == t.DATE:
            return call("date_to_text", t.STRING, value)
        if t.is_timestamp(source):
            return self.clock.read_parts("time_to_text", t.STRING, value)
        return None

    def _from_text(self, value: Typed, to: pa.DataType, *, soft: bool) -> Typed | None:
        parameters: tuple[str, ...] = ("soft",) if soft else ()
        if t.is_integer(to) and not self.ansi:
            parameters = ("soft", "cut")
        if t.is_timestamp(to):
            return self.clock.read(value, to, parameters)
        if to == t.BINARY:
            return Typed(sql_cast(value.text, to), to, can_fail=value.can_fail)
        kernel = _parsing_kernel(to)
        if kernel is None:
            return None
        return call(kernel, to, value, parameters=parameters, can_fail=not soft)

    def _folded(self, value: Typed, to: pa.DataType) -> Typed | None:
        """Cast a literal while translating, so that filters compare a column with a literal."""
        if not value.is_literal or value.value is None:
            return None
        literal = value.value
        if value.type == t.STRING and to == t.DATE:
            days = parse_date(literal)
            return None if days is None else literal_days(days)
        if value.type == t.STRING and t.is_timestamp(to):
            micros = self.clock.moment(literal, to)
            return None if micros is None else literal_micros(micros, to)
        if t.is_integer(value.type) and t.is_integer(to):
            fits = -(1 << (to.bit_width - 1)) <= literal < 1 << (to.bit_width - 1)
            return literal_int(literal, to) if fits else None
        if t.is_integer(value.type) and t.is_decimal(to):
            digits = len(str(abs(literal)))
            if digits <= to.precision - to.scale:
                return Typed(
                    sql_cast(str(literal), to), to, is_literal=True, value=Decimal(literal)
                )
        if t.is_decimal(value.type) and t.is_decimal(to):
            whole = to.precision - to.scale - (value.type.precision - value.type.scale)
            if whole >= 0 and to.scale >= value.type.scale:
                return Typed(sql_cast(str(literal), to), to, is_literal=True, value=literal)
        return None


def _is_truncated_by_chance(source: pa.DataType, to: pa.DataType) -> bool:
    """Return whether Spark truncates some decimals exactly, and others as the nearest double.

    It takes the double to cast to a type shorter than BIGINT, if the decimal is not held as a long
    at that point. Both have the same result with few digits, or few of them after the point.
    """
    return (
        t.is_decimal(source)
        and t.is_integer(to)
        and to != t.LONG
        and source.precision > _DOUBLE_DIGITS
        and source.scale > _INT_SCALE
    )


def _plain(value: Typed, to: pa.DataType, *, can_fail: bool = False) -> Typed:
    assert can_cast_natively(to)
    return Typed(
        sql_cast(value.text, to),
        to,
        can_fail=can_fail or value.can_fail,
        nullable=value.nullable,
    )


def _parsing_kernel(to: pa.DataType) -> str | None:
    """Return the kernel that parses strings as a type."""
    if t.is_integer(to):
        return "text_to_integer"
    if t.is_decimal(to):
        return "text_to_decimal"
    kernels = {
        t.DOUBLE: "text_to_double",
        t.FLOAT: "text_to_float",
        t.BOOLEAN: "text_to_boolean",
        t.DATE: "text_to_date",
    }
    return kernels.get(to)
