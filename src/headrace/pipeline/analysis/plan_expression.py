"""Reads Substrait expressions: their parts, their literals, and their text in reports.

The functions of a plan are numbered; an `ExpressionReader` knows their names.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from substrait.algebra_pb2 import AggregateFunction, AggregateRel, Expression, Rel, SortField

from headrace.expr.node import Literal as SparkLiteral
from headrace.expr.node import Value

_INFIX = {
    "equal": "=",
    "not_equal": "<>",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulus": "%",
    "like": "LIKE",
    "not_like": "NOT LIKE",
}
_INFIX |= {
    "spark_add": "+",
    "spark_subtract": "-",
    "spark_multiply": "*",
    "spark_divide": "/",
    "spark_decimal_divide": "/",
    "spark_remainder": "%",
}
_TRANSPARENT = frozenset(
    {
        *("spark_normal", "spark_float_order", "spark_float_value"),
        *("spark_in_range", "spark_stepwise_sum", "spark_same"),
    }
)
"""Kernels that only concern the order, the range or the evaluation of their first argument."""
_DISTINCT = AggregateFunction.AGGREGATION_INVOCATION_DISTINCT
_DIRECTIONS = {
    SortField.SORT_DIRECTION_ASC_NULLS_LAST: " NULLS LAST",
    SortField.SORT_DIRECTION_DESC_NULLS_FIRST: " DESC NULLS FIRST",
    SortField.SORT_DIRECTION_DESC_NULLS_LAST: " DESC",
}
"""How each direction is written; an ascending order with nulls first is Spark's default."""
_WINDOW = Expression.WindowFunction
_FRAMELESS = frozenset(
    {
        *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"),
        *("lag", "lead"),
    }
)
"""Window functions whose frame changes nothing."""
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (a naive time stays one)
_TICKS = {3: 1_000, 6: 1_000_000, 9: 1_000_000_000, 0: 1}


_NORMAL = "spark_normal"


class UnknownLiteralError(Exception):
    """A literal of a kind that has no Python value here."""


def field_index(expression: Expression) -> int | None:
    """Return the index of the column that an expression refers to; None if it is not a column."""
    if expression.WhichOneof("rex_type") != "selection":
        return None
    selection = expression.selection
    is_field = selection.HasField("direct_reference") and selection.HasField("root_reference")
    if not is_field or selection.direct_reference.WhichOneof("reference_type") != "struct_field":
        return None
    return int(selection.direct_reference.struct_field.field)


def children(expression: Expression) -> list[Expression]:
    """Return the direct children of an expression, without those of its subqueries."""
    kind = expression.WhichOneof("rex_type")
    match kind:
        case "scalar_function":
            return [argument.value for argument in expression.scalar_function.arguments]
        case "window_function":
            window = expression.window_function
            arguments = [argument.value for argument in window.arguments]
            return [*arguments, *window.partitions, *(sort.expr for sort in window.sorts)]
        case "cast":
            return [expression.cast.input]
        case "if_then":
            branches = expression.if_then
            parts = [part for b in branches.ifs for part in (getattr(b, "if"), b.then)]
            return [*parts, getattr(branches, "else")] if branches.HasField("else") else parts
        case "singular_or_list":
            return [expression.singular_or_list.value, *expression.singular_or_list.options]
        case "subquery" if expression.subquery.HasField("in_predicate"):
            return list(expression.subquery.in_predicate.needles)
        case "nested":
            return _nested(expression.nested)
        case _:
            return []


def _nested(nested: Expression.Nested) -> list[Expression]:
    match nested.WhichOneof("nested_type"):
        case "struct":
            return list(nested.struct.fields)
        case "list":
            return list(nested.list.values)
        case _:
            return [part for pair in nested.map.key_values for part in (pair.key, pair.value)]


def subplans(expression: Expression) -> Iterator[Rel]:
    """Yield the plans of a subquery."""
    if expression.WhichOneof("rex_type") != "subquery":
        return
    match expression.subquery.WhichOneof("subquery_type"):
        case "scalar":
            yield expression.subquery.scalar.input
        case "in_predicate":
            yield expression.subquery.in_predicate.haystack
        case "set_predicate":
            yield expression.subquery.set_predicate.tuples
        case "set_comparison":
            yield expression.subquery.set_comparison.right


def literal_value(literal: Expression.Literal) -> Value:
    """Return the Python value of a literal.

    Raises:
        UnknownLiteralError: predicates do not support this kind of literal.
    """
    kind = literal.WhichOneof("literal_type")
    match kind:
        case "boolean" | "i8" | "i16" | "i32" | "i64" | "fp32" | "fp64" | "string" | "binary":
            value: Value = getattr(literal, kind)
            return value
        case "var_char":
            return str(literal.var_char.value)
        case "date":
            return _after_epoch(dt.timedelta(days=literal.date)).date()
        case "decimal":
            unscaled = int.from_bytes(literal.decimal.value, "little", signed=True)
            return Decimal(unscaled).scaleb(-literal.decimal.scale)
        case "precision_timestamp":
            return _moment(literal.precision_timestamp)
        case "precision_timestamp_tz":
            return _moment(literal.precision_timestamp_tz).replace(tzinfo=dt.UTC)
        case "null":
            return None
        case _:
            raise UnknownLiteralError(kind or "none")


def _moment(literal: Any) -> dt.datetime:
    micros, remainder = divmod(literal.value * 1_000_000, _TICKS[literal.precision])
    if remainder:
        raise UnknownLiteralError("a time finer than microseconds")
    return _after_epoch(dt.timedelta(microseconds=micros))


def _after_epoch(time: dt.timedelta) -> dt.datetime:
    try:
        return _EPOCH + time
    except OverflowError:
        raise UnknownLiteralError("a time before the year 1 or after 9999") from None


class ExpressionReader(msgspec.Struct, frozen=True):
    """Reads the expressions of one plan, by the names of its functions."""

    functions: Mapping[int, str]

    def name(self, expression: Expression) -> str:
        """Return the name of the scalar function that an expression calls, or empty."""
        if expression.WhichOneof("rex_type") != "scalar_function":
            return ""
        return self.functions[expression.scalar_function.function_reference]

    def called(self, expression: Expression) -> str:
        """Return the name of the scalar or window function that an expression calls, or empty."""
        if expression.WhichOneof("rex_type") == "window_function":
            return self.functions[expression.window_function.function_reference]
        return self.name(expression)

    def compared(self, expression: Expression) -> Expression:
        """Return a comparison's operand without the kernel that puts floats in Spark's order."""
        name = self.name(expression).partition("|")[0]
        return children(expression)[0] if name == _NORMAL else expression

    def conjuncts(self, expression: Expression) -> Iterator[Expression]:
        """Yield the operands of AND, in order."""
        if self.name(expression) == "and":
            for argument in expression.scalar_function.arguments:
                yield from self.conjuncts(argument.value)
        else:
            yield expression

    def equal_sides(self, expression: Expression) -> list[Expression]:
        """Return the two sides of an equality; empty if the expression is not an equality."""
        is_equality = self.name(expression) in {"equal", "is_not_distinct_from"}
        return children(expression) if is_equality else []

    def measure(self, measure: AggregateRel.Measure, names: Sequence[str]) -> str:
        """Return a measure of an aggregation as text, with the order and the filter of its rows."""
        function = measure.measure
        arguments = ", ".join(self.text(a.value, names) for a in function.arguments)
        distinct = "DISTINCT " if function.invocation == _DISTINCT else ""
        text = f"{self.functions[function.function_reference]}({distinct}{arguments})"
        if function.sorts:
            text += f" WITHIN GROUP (ORDER BY {', '.join(self.order(function.sorts, names))})"
        if measure.HasField("filter"):
            text += f" FILTER (WHERE {self.text(measure.filter, names)})"
        return text

    def order(self, sorts: Iterable[SortField], names: Sequence[str]) -> tuple[str, ...]:
        """Return the keys of an order as text, each with its direction."""
        return tuple(
            self.text(sort.expr, names) + _DIRECTIONS.get(sort.direction, "") for sort in sorts
        )

    def text(self, expression: Expression, names: Sequence[str]) -> str:
        """Return an expression as text, over columns of these names."""
        place = field_index(expression)
        if place is not None:
            return names[place]
        parts = [self.text(part, names) for part in children(expression)]
        match expression.WhichOneof("rex_type"):
            case "literal":
                return _literal_text(expression.literal)
            case "scalar_function":
                return _function_text(self.name(expression), parts)
            case "window_function":
                return self._window_text(expression, names)
            case "cast":
                return f"CAST({parts[0]} AS {expression.cast.type.WhichOneof('kind')})"
            case "if_then":
                return f"CASE({', '.join(parts)})"
            case "singular_or_list":
                return f"{parts[0]} IN ({', '.join(parts[1:])})"
            case "subquery":
                return "(subquery)"
            case kind:
                return f"{kind}({', '.join(parts)})"

    def _window_text(self, expression: Expression, names: Sequence[str]) -> str:
        window = expression.window_function
        arguments = ", ".join(self.text(a.value, names) for a in window.arguments)
        by = ", ".join(self.text(part, names) for part in window.partitions)
        order = ", ".join(self.order(window.sorts, names))
        function = self.functions[window.function_reference]
        clauses = (
            f"PARTITION BY {by}" if by else "",
            f"ORDER BY {order}" if order else "",
            "" if function in _FRAMELESS else _frame(window),
        )
        return f"{function}({arguments}) OVER ({' '.join(filter(None, clauses))})"


def _frame(window: Expression.WindowFunction) -> str:
    """Return the frame of a window as text; empty for the default frame."""
    is_ordered, is_rows = bool(window.sorts), window.bounds_type == _WINDOW.BOUNDS_TYPE_ROWS
    lower = _bound(window.lower_bound, "PRECEDING")
    upper = _bound(window.upper_bound, "FOLLOWING")
    is_from_start = lower == "UNBOUNDED PRECEDING"
    if is_from_start and upper == "UNBOUNDED FOLLOWING":
        is_default = not is_ordered
    else:
        is_default = is_from_start and is_ordered and not is_rows and upper == "CURRENT ROW"
    return "" if is_default else f"{'ROWS' if is_rows else 'RANGE'} BETWEEN {lower} AND {upper}"


def _bound(bound: Expression.WindowFunction.Bound, side: str) -> str:
    match bound.WhichOneof("kind"):
        case "preceding":
            return f"{bound.preceding.offset} PRECEDING"
        case "following":
            return f"{bound.following.offset} FOLLOWING"
        case "current_row":
            return "CURRENT ROW"
        case _:
            return f"UNBOUNDED {side}"


def _literal_text(literal: Expression.Literal) -> str:
    try:
        return str(SparkLiteral(literal_value(literal)))
    except UnknownLiteralError:
        return str(literal.WhichOneof("literal_type"))


def _function_text(name: str, parts: list[str]) -> str:
    if name in _INFIX and len(parts) > 1:
        operands = parts[:2] if "like" in name else parts
        return f"({f' {_INFIX[name]} '.join(operands)})"
    if name in _TRANSPARENT:
        return parts[0]
    if name in {"is_null", "is_not_null"}:
        return f"({parts[0]} {name.replace('_', ' ').upper()})"
    return f"{name.removeprefix('spark_')}({', '.join(parts)})"
