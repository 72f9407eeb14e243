"""Translates operators: arithmetic, comparison and logic with Spark's types and failures.

Typed operands enter; a typed DataFusion expression leaves, or None if the catalogue lacks the
operator for these types. In ANSI mode a failure is an error, otherwise null or a wrapped value.
"""

from collections.abc import Callable

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.evaluation import in_order, last_first, null_with
from headrace.pipeline.translation.interval import interval_arithmetic, minus
from headrace.pipeline.translation.kernels.decimal_number import NEGATED_DIGITS
from headrace.pipeline.translation.typed import (
    Typed,
    call,
    case,
    literal_bool,
    native,
    null_of,
    present,
    sql_cast,
)

_KERNELS = {"+": "add", "-": "subtract", "*": "multiply"}


def arithmetic(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    """Compile `+`, `-` or `*`; None if the catalogue lacks it for these types."""
    if t.is_interval(left.type) or t.is_interval(right.type):
        return interval_arithmetic(casts, operator, left, right)
    if operator == "-" and t.is_time(left.type) and t.is_time(right.type):
        return interval_arithmetic(casts, operator, left, right)
    if t.DATE in (left.type, right.type):
        return _date_arithmetic(casts, operator, left, right)
    if not (_is_number(left) and _is_number(right)):
        return None
    if _are_decimals(left, right):
        return _decimal_arithmetic(casts, operator, left, right)
    sides = _widened(casts, left, right)
    if sides is None:
        return None
    kind = sides[0].type
    fits = _fits(operator, kind, *sides)
    first, second = in_order(*sides)
    if t.is_integer(kind) and casts.ansi:
        result = call(_KERNELS[operator], kind, first, second, can_fail=not fits)
    else:
        result = native(f"({{0}} {operator} {{1}})", kind, first, second)
    return null_with(result, *sides)


def _fits(operator: str, kind: pa.DataType, left: Typed, right: Typed) -> bool:
    """Return whether both sides are literals whose result fits a type."""
    if None in (left.value, right.value) or not t.is_integer(kind):
        return False
    compute = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[operator]
    result = compute(int(left.value), int(right.value))
    limit = 1 << (int(kind.bit_width) - 1)
    return -limit <= result < limit


def _is_number(value: Typed) -> bool:
    return t.is_numeric(value.type) or value.type == t.VOID


def _are_decimals(left: Typed, right: Typed) -> bool:
    kinds = (left.type, right.type)
    return any(map(t.is_decimal, kinds)) and not any(map(t.is_float, kinds))


def _date_arithmetic(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    kernel = {"+": "date_add", "-": "date_subtract"}.get(operator)
    if operator == "+" and right.type == t.DATE:
        left, right = right, left
    if kernel is None or left.type != t.DATE or not t.is_integer(right.type):
        return None
    if right.type == t.LONG:
        return None
    days = casts.cast(right, t.INT)
    return None if days is None else call(kernel, t.DATE, *in_order(left, days), can_fail=True)


def _widened(casts: Casts, left: Typed, right: Typed) -> tuple[Typed, Typed] | None:
    kind = t.common_type(left.type, right.type)
    if kind is None:
        return None
    return _both(casts.widen(left, kind), casts.widen(right, kind))


def _both(first: Typed | None, second: Typed | None) -> tuple[Typed, Typed] | None:
    """Return two operands; None if one of them has no translation."""
    return None if first is None or second is None else (first, second)


def decimal_operand(casts: Casts, value: Typed) -> Typed | None:
    """Return an operand of decimal arithmetic; an integer literal gets only the digits it needs.

    A TINYINT literal always gets three digits, since Spark has no such rule for that type.
    """
    if t.is_decimal(value.type):
        return value
    if not t.is_integer(value.type):
        return None
    kind = t.as_decimal(value.type)
    if value.is_literal and value.value is not None and value.type != t.BYTE:
        kind = pa.decimal128(max(len(str(abs(value.value))), 1), 0)
    return casts.cast(value, kind)


def _decimal_operands(casts: Casts, left: Typed, right: Typed) -> tuple[Typed, Typed] | None:
    return _both(decimal_operand(casts, left), decimal_operand(casts, right))


def _decimal_arithmetic(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    operands = _decimal_operands(casts, left, right)
    if operands is None:
        return None
    first, second = in_order(*operands)
    a, b = first.type, second.type
    if operator == "*":
        precision, scale = a.precision + b.precision + 1, a.scale + b.scale
    else:
        scale = max(a.scale, b.scale)
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    kind = t.adjusted(precision, scale)
    plain = native(f"({{0}} {operator} {{1}})", kind, first, second)
    if precision <= t.MOST_DIGITS:
        return Typed(sql_cast(plain.text, kind), kind, can_fail=plain.can_fail)
    if casts.ansi and kind.scale == scale and (operator == "*" or a.scale == b.scale):
        return call("in_range", kind, plain, can_fail=True)
    return checked(casts, f"decimal_{_KERNELS[operator]}", kind, first, second)


def checked(casts: Casts, kernel: str, kind: pa.DataType, *arguments: Typed) -> Typed:
    """Call a kernel that fails where Spark does in ANSI mode, and otherwise returns null there."""
    if casts.ansi:
        return null_with(call(kernel, kind, *arguments, can_fail=True), *arguments)
    return call("attempt", kind, *arguments, parameters=(kernel,))


def divide(casts: Casts, left: Typed, right: Typed) -> Typed | None:
    """Compile `/`: a decimal for decimals, a double for everything else."""
    if not (_is_number(left) and _is_number(right)):
        return None
    if _are_decimals(left, right):
        operands = _decimal_operands(casts, left, right)
        if operands is None:
            return None
        first, second = last_first(*operands)
        a, b = first.type, second.type
        scale = max(6, a.scale + b.precision + 1)
        kind = t.adjusted(a.precision - a.scale + b.scale + scale, scale)
        return checked(casts, "decimal_divide", kind, first, second)
    operands = _both(casts.cast(left, t.DOUBLE), casts.cast(right, t.DOUBLE))
    if operands is None:
        return None
    first, second = last_first(*operands)
    if casts.ansi:
        return null_with(call("divide", t.DOUBLE, first, second, can_fail=True), first, second)
    zero = sql_cast("0", t.DOUBLE)
    return native(
        f"({{0}} / CASE WHEN {{1}} = {zero} THEN NULL ELSE {{1}} END)", t.DOUBLE, first, second
    )


def integer_divide(casts: Casts, left: Typed, right: Typed) -> Typed | None:
    """Compile `DIV`, which returns a BIGINT."""
    if t.is_interval(left.type) and t.common_type(left.type, right.type) is not None:
        if not casts.ansi:
            return None
        return call("interval_quotient", t.LONG, left, right, can_fail=True)
    if not (t.is_integer(left.type) and t.is_integer(right.type)):
        return None
    operands = _both(casts.cast(left, t.LONG), casts.cast(right, t.LONG))
    if operands is None:
        return None
    first, second = last_first(*operands)
    return checked(casts, "quotient" if casts.ansi else "wrapped_quotient", t.LONG, first, second)


def modulo(casts: Casts, left: Typed, right: Typed) -> Typed | None:
    """Compile `%`: the remainder has the sign of the dividend."""
    if _are_decimals(left, right):
        operands = _decimal_operands(casts, left, right)
        if operands is None:
            return None
        first, second = last_first(*operands)
        a, b = first.type, second.type
        scale = max(a.scale, b.scale)
        kind = t.adjusted(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
        return checked(casts, "decimal_remainder", kind, first, second)
    sides = _widened(casts, left, right)
    if sides is None or not (t.is_integer(sides[0].type) or sides[0].type == t.DOUBLE):
        return None
    return checked(casts, "remainder", sides[0].type, *last_first(*sides))


def negate(casts: Casts, value: Typed) -> Typed | None:
    """Compile `-x`."""
    if t.is_interval(value.type):
        return minus(value)
    if t.is_integer(value.type):
        kernel = "negate" if casts.ansi else "wrapped_negate"
        return call(kernel, value.type, value, can_fail=casts.ansi)
    if t.is_decimal(value.type) and value.type.precision > NEGATED_DIGITS:
        return null_with(call("decimal_negate", value.type, value, can_fail=True), value)
    if t.is_decimal(value.type) or t.is_float(value.type):
        return native("(- {0})", value.type, value)
    return None


def bitwise(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    """Compile `&`, `|` or `^`."""
    sides = _widened(casts, left, right)
    if sides is None or not t.is_integer(sides[0].type):
        return None
    word = "BITXOR" if operator == "^" else operator
    if word == "BITXOR":
        return native("({0} ^ {1})", sides[0].type, *in_order(*sides))
    return native(f"({{0}} {word} {{1}})", sides[0].type, *in_order(*sides))


def shift_bits(casts: Casts, direction: str, left: Typed, right: Typed) -> Typed | None:
    """Compile `<<` and `>>` of an INT or a BIGINT, by an INT."""
    kinds = (left.type, right.type)
    if not all(map(t.is_integer, kinds)) or right.type == t.LONG:
        return None
    kind = t.LONG if left.type == t.LONG else t.INT
    operands = _both(casts.cast(left, kind), casts.cast(right, t.INT))
    if operands is None:
        return None
    return call("shift", kind, *in_order(*operands), parameters=(direction,))


def comparable(casts: Casts, left: Typed, right: Typed) -> tuple[Typed, Typed] | None:
    """Return both sides of a comparison in one type, in which equality is bitwise."""
    if left.type == right.type == t.VOID:
        nothing = null_of(t.BOOLEAN)
        return nothing, nothing
    left, right = _cast_for_comparison(casts, left, right), _cast_for_comparison(casts, right, left)
    if t.VOID in (left.type, right.type) and left.type != right.type:
        kind = left.type if right.type == t.VOID else right.type
        operands = _both(casts.cast(left, kind), casts.cast(right, kind))
        if operands is None:
            return None
        left, right = operands
    sides = _widened(casts, left, right)
    if sides is None or not t.is_orderable(sides[0].type):
        return None
    if t.is_float(sides[0].type):
        return ordered(sides[0]), ordered(sides[1])
    return sides


def ordered(value: Typed) -> Typed:
    """Return a value whose bits order, group and compare as in Spark."""
    if not t.is_float(value.type) or (value.is_literal and value.value):
        return value
    return call("normal", value.type, value)


def _cast_for_comparison(casts: Casts, value: Typed, compared_with: Typed) -> Typed:
    """Cast a string to the type that Spark casts it to when compared with another value."""
    if value.type != t.STRING or compared_with.type in (t.STRING, t.VOID) or not casts.ansi:
        return value
    kind = compared_with.type
    if t.is_integer(kind):
        kind = t.LONG
    elif t.is_decimal(kind) or kind == t.FLOAT:
        kind = t.DOUBLE
    return casts.cast(value, kind) or value


def compare(casts: Casts, operator: str, left: Typed, right: Typed) -> Typed | None:
    """Compile a comparison; `<=>` is the null-safe one."""
    sides = comparable(casts, left, right)
    if sides is None:
        return None
    if operator == "<=>":
        if left.can_fail and left.text == right.text and "random()" not in left.text:
            return literal_bool(value=True)  # Spark does not evaluate the sides
        return present(native("({0} IS NOT DISTINCT FROM {1})", t.BOOLEAN, *sides))
    if operator == "IS DISTINCT FROM":
        return native("({0} IS DISTINCT FROM {1})", t.BOOLEAN, *sides)
    return native(f"({{0}} {operator} {{1}})", t.BOOLEAN, *in_order(*sides))


def logical(word: str, left: Typed, right: Typed) -> Typed:
    """Compile AND and OR; a side that may fail is evaluated only where Spark evaluates it."""
    if not right.can_fail:
        return native(f"({{0}} {word} {{1}})", t.BOOLEAN, left, right)
    undecided = "IS NOT FALSE" if word == "AND" else "IS NOT TRUE"
    guarded = case(t.BOOLEAN, (f"({left.text}) {undecided}", right.text), can_fail=True)
    return native(f"({{0}} {word} {{1}})", t.BOOLEAN, left, guarded)


BINARY: dict[str, Callable[[Casts, Typed, Typed], Typed | None]] = {
    **{
        operator: (lambda c, a, b, o=operator: arithmetic(c, o, a, b))  # type: ignore[misc]
        for operator in _KERNELS
    },
    "/": divide,
    "%": modulo,
    "DIV": integer_divide,
    **{
        operator: (lambda c, a, b, o=operator: bitwise(c, o, a, b))  # type: ignore[misc]
        for operator in ("&", "|", "^")
    },
    "<<": lambda c, a, b: shift_bits(c, "left", a, b),
    ">>": lambda c, a, b: shift_bits(c, "right", a, b),
    **{
        operator: (lambda c, a, b, o=operator: compare(c, o, a, b))  # type: ignore[misc]
        for operator in ("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
    },
}
"""The translation of each operator."""


class Attempts:
    """Arithmetic whose failures are null under all settings."""

    def __init__(self, casts: Casts) -> None:
        """Take the settings under which the arguments are cast."""
        self.lenient = Casts(ansi=False, time_zone=casts.time_zone)

    def binary(self, operator: str, left: Typed, right: Typed) -> Typed | None:
        """Compile an operator between numbers; integer overflow returns null."""
        if operator in _KERNELS and not any(map(t.is_decimal, (left.type, right.type))):
            sides = _widened(self.lenient, left, right)
            if sides is not None and t.is_integer(sides[0].type):
                return checked(self.lenient, _KERNELS[operator], sides[0].type, *sides)
        return BINARY[operator](self.lenient, left, right)
