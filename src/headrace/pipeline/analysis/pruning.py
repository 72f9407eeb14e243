"""Turns the filters of a scan into predicates that may prune the files of its table.

Supported are comparisons of a column with a literal of exactly the column's type in both runners,
connected by AND, OR and NOT. A part of a conjunction may be dropped; any other part may not.
"""

from collections.abc import Collection

from substrait.algebra_pb2 import Expression
from substrait.type_pb2 import Type

from headrace.expr.node import (
    And,
    Column,
    Compare,
    CompareOp,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from headrace.pipeline.analysis.flow import Scan
from headrace.pipeline.analysis.plan_expression import (
    ExpressionReader,
    UnknownLiteralError,
    children,
    field_index,
    literal_value,
)

_OPERATORS = {
    "equal": CompareOp.EQ,
    "not_equal": CompareOp.NE,
    "lt": CompareOp.LT,
    "lte": CompareOp.LE,
    "gt": CompareOp.GT,
    "gte": CompareOp.GE,
}
_ZONED = "precision_timestamp_tz"
_WILD = frozenset("%_\\")


class Pruner:
    """Reads the conditions of scans; columns are named in lower case, as in the plan."""

    def __init__(
        self, expressions: ExpressionReader, *, untrusted: Collection[str], in_utc: bool
    ) -> None:
        """Take the columns that must not be pruned by, and whether times without a zone are UTC."""
        self.expressions = expressions
        self.untrusted = frozenset(untrusted)
        self.in_utc = in_utc

    def predicate(self, scan: Scan) -> Predicate | None:
        """Return a predicate true for every row needed from this scan; None if none is known."""
        reader = _ScanReader(self, scan)
        parts = [part for c in scan.conditions if (part := reader.weakened(c)) is not None]
        return _all(parts)


def combine(predicates: list[Predicate | None]) -> Predicate | None:
    """Return a predicate for every row that any of several scans needs: the OR of theirs."""
    known = [predicate for predicate in predicates if predicate is not None]
    if len(known) < len(predicates) or not known:
        return None
    distinct = list({str(predicate): predicate for predicate in known}.values())
    return distinct[0] if len(distinct) == 1 else Or(tuple(distinct))


class _ScanReader:
    """Turns the conditions of one scan into predicates over its columns."""

    def __init__(self, pruner: Pruner, scan: Scan) -> None:
        self.expressions, self.pruner, self.scan = pruner.expressions, pruner, scan

    def weakened(self, condition: Expression) -> Predicate | None:
        """Return a predicate that is true wherever this condition is; None if none is known."""
        match self.expressions.name(condition):
            case "and":
                parts = [self.weakened(part) for part in children(condition)]
                return _all([part for part in parts if part is not None])
            case "or":
                parts = [self.weakened(part) for part in children(condition)]
                known = [part for part in parts if part is not None]
                return Or(tuple(known)) if len(known) == len(parts) else None
            case _:
                return self.exact(condition)

    def exact(self, condition: Expression) -> Predicate | None:
        """Return the same condition as a predicate; None if a part of it cannot be expressed."""
        name, parts = self.expressions.name(condition), children(condition)
        if name in {"and", "or"}:
            exact_parts = [self.exact(part) for part in parts]
            known = tuple(part for part in exact_parts if part is not None)
            if len(known) < len(exact_parts):
                return None
            return And(known) if name == "and" else Or(known)
        if name == "not":
            inner = self.exact(parts[0])
            return None if inner is None else Not(inner)
        if name in _OPERATORS:
            return self._compare(_OPERATORS[name], *parts)
        if name in {"is_null", "is_not_null"}:
            column = self._column(parts[0])
            return None if column is None else _negated(IsNull(column), name == "is_not_null")
        if name == "like":
            return self._like(*parts[:2])
        if condition.WhichOneof("rex_type") == "singular_or_list":
            return self._in(parts[0], parts[1:])
        return self._boolean(condition)

    def _compare(self, op: CompareOp, left: Expression, right: Expression) -> Predicate | None:
        left, right = self.expressions.compared(left), self.expressions.compared(right)
        if field_index(left) is None:
            op, left, right = op.mirrored, right, left
        column, literal = self._column(left), self._literal(right, left)
        return None if column is None or literal is None else Compare(column, op, literal)

    def _in(self, value: Expression, options: list[Expression]) -> Predicate | None:
        value, *options = map(self.expressions.compared, (value, *options))
        column = self._column(value)
        literals = [self._literal(option, value) for option in options]
        if column is None or not literals or any(literal is None for literal in literals):
            return None
        return In(column, tuple(literal for literal in literals if literal is not None))

    def _like(self, value: Expression, pattern: Expression) -> Predicate | None:
        column, literal = self._column(value), self._literal(pattern, value)
        if column is None or literal is None or not isinstance(literal.value, str):
            return None
        prefix = literal.value.removesuffix("%")
        is_prefix = prefix and prefix != literal.value and not _WILD.intersection(prefix)
        return StartsWith(column, prefix) if is_prefix else None

    def _boolean(self, condition: Expression) -> Predicate | None:
        place = field_index(condition)
        if place is None or self.scan.types[place].WhichOneof("kind") != "bool":
            return None
        return self._column(condition)

    def _column(self, expression: Expression) -> Column | None:
        place = field_index(expression)
        if place is None or self.scan.names[place] in self.pruner.untrusted:
            return None
        if self.scan.types[place].WhichOneof("kind") == _ZONED and not self.pruner.in_utc:
            return None  # DataFusion reads the literal as UTC, Spark does not
        return Column((self.scan.names[place],))

    def _literal(self, expression: Expression, column: Expression) -> Literal | None:
        place = field_index(column)
        if place is None or expression.WhichOneof("rex_type") != "literal":
            return None
        if not _same_type(expression.literal, self.scan.types[place]):
            return None
        try:
            return Literal(literal_value(expression.literal))
        except UnknownLiteralError:
            return None


def _same_type(literal: Expression.Literal, kind: Type) -> bool:
    """Return whether a literal has exactly the type of a column."""
    literal_kind, column_kind = literal.WhichOneof("literal_type"), kind.WhichOneof("kind")
    if literal_kind == "boolean":
        return bool(column_kind == "bool")
    if literal_kind != column_kind or literal_kind == "null":
        return False
    value, column = getattr(literal, literal_kind), getattr(kind, column_kind)
    details = {"decimal": ("precision", "scale"), "precision_timestamp": ("precision",)}
    names = details.get(literal_kind.removesuffix("_tz"), ())
    return all(getattr(value, name) == getattr(column, name) for name in names)


def _all(parts: list[Predicate]) -> Predicate | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _negated(predicate: Predicate, is_negated: bool) -> Predicate:  # noqa: FBT001
    return Not(predicate) if is_negated else predicate
