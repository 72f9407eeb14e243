"""Convert SQL text to a predicate over column names, by way of the parser's tree.

Comparisons of a column with a literal become nodes; other legal conditions become opaque.
"""

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from headrace.errors import PredicateSyntaxError
from headrace.expr.literal import fold
from headrace.expr.node import (
    And,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from headrace.expr.parse.operand import as_column, as_literal, as_opaque
from headrace.expr.parse.tree import TOO_DEEP, parse_tree

_MAX_DEPTH = 64
_PATTERN = re.compile(r"(?:[^\\]|\\[%_\\])*", re.DOTALL)
"""A valid LIKE pattern: each backslash precedes a wildcard or another backslash."""
_OPERATORS: dict[type[exp.Expr], CompareOp] = {
    exp.EQ: CompareOp.EQ,
    exp.NEQ: CompareOp.NE,
    exp.LT: CompareOp.LT,
    exp.LTE: CompareOp.LE,
    exp.GT: CompareOp.GT,
    exp.GTE: CompareOp.GE,
    exp.NullSafeEQ: CompareOp.SAFE_EQ,
}


def parse_predicate(text: str) -> Predicate:
    """Parse one condition.

    Raises:
        PredicateSyntaxError: the text is not one condition of Spark SQL.
    """
    try:
        return _predicate(parse_tree(text), depth=0)
    except ParseError as error:
        raise _located(text, error) from error
    except RecursionError as error:
        raise PredicateSyntaxError(predicate=text, reason=TOO_DEEP) from error
    except SqlglotError as error:
        reason = "a quote or comment is not closed, or a literal is cut short"
        raise PredicateSyntaxError(predicate=text, reason=reason) from error
    except ValueError as error:
        raise PredicateSyntaxError(predicate=text, reason=str(error)) from error


def _located(text: str, error: ParseError) -> PredicateSyntaxError:
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    position = None
    if line and column:
        before = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
        position = max(1, before + column - len(details.get("highlight") or "") + 1)
    reason = "something is missing" if "missing" in str(details) else "this was not expected"
    return PredicateSyntaxError(predicate=text, reason=reason, position=position)


def _predicate(node: exp.Expr, *, depth: int) -> Predicate:
    if depth > _MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    node = node.unnest()
    match node:
        case exp.And():
            return And(tuple(_predicate(part, depth=depth + 1) for part in _operands(node)))
        case exp.Or():
            return Or(tuple(_predicate(part, depth=depth + 1) for part in _operands(node)))
        case exp.Not():
            return Not(_predicate(node.this, depth=depth + 1))
        case exp.Boolean():
            return Constant(bool(node.this))
        case exp.Null():
            return Constant(None)
        case exp.Literal():
            raise ValueError(f"{node.sql(dialect='spark')} by itself is not a condition")
        case _:
            return _condition(node)


def _condition(node: exp.Expr) -> Predicate:
    op = _OPERATORS.get(type(node))
    if op is not None:
        return _comparison(node, op)
    match node:
        case exp.NullSafeNEQ():
            return Not(_comparison(node, CompareOp.SAFE_EQ))
        case exp.Between():
            return _between(node)
        case exp.In():
            return _in(node)
        case exp.Is():
            return _is(node)
        case exp.Like():
            like = _like(node)
            return Not(like) if node.args.get("negate") else like
        case exp.StartsWith():
            return _starts_with(node)
        case _:
            return as_column(node) or as_opaque(node)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the operands of a chain of ANDs or ORs in order, without recursion."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if type(part) is type(node):
            waiting += (part.args["expression"], part.this)
        else:
            yield part


def _comparison(node: exp.Expr, op: CompareOp) -> Predicate:
    left, right = node.this.unnest(), node.args["expression"].unnest()
    left_literal, right_literal = as_literal(left), as_literal(right)
    if left_literal is not None and right_literal is not None:
        return fold(left_literal, op, right_literal) or as_opaque(node)
    if left_literal is not None:
        column = as_column(right)
        return Compare(column, op.mirrored, left_literal) if column else as_opaque(node)
    column = as_column(left)
    if column is None or right_literal is None:
        return as_opaque(node)
    return Compare(column, op, right_literal)


def _between(node: exp.Between) -> Predicate:
    if node.args.get("symmetric"):
        return as_opaque(node)
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return And((_comparison(low, CompareOp.GE), _comparison(high, CompareOp.LE)))


def _in(node: exp.In) -> Predicate:
    if not any(node.args.get(key) for key in ("expressions", "query", "unnest", "field")):
        raise ValueError("the list after IN is empty")
    column = as_column(node.this.unnest())
    literals = [as_literal(item) for item in node.expressions]
    if column is None or not literals or None in literals:
        return as_opaque(node)
    return In(column, tuple(literal for literal in literals if literal is not None))


def _is(node: exp.Is) -> Predicate:
    column, test = as_column(node.this.unnest()), node.args["expression"]
    match test:
        case exp.Null():
            return IsNull(column) if column else as_opaque(node)
        case exp.Boolean():
            truth = Literal(bool(test.this))
            return Compare(column, CompareOp.SAFE_EQ, truth) if column else as_opaque(node)
        case _:
            raise ValueError("IS must be followed by NULL, TRUE, FALSE or UNKNOWN")


def _like(node: exp.Like) -> Predicate:
    column, pattern = as_column(node.this.unnest()), as_literal(node.args["expression"])
    if column is None or pattern is None or not isinstance(pattern.value, str):
        return as_opaque(node)
    prefix = pattern.value.rstrip("%")
    if prefix != pattern.value and not any(special in prefix for special in "%_\\"):
        return StartsWith(column, prefix)
    # A pattern that Spark rejects becomes opaque, so that Spark reports the error.
    return Like(column, pattern.value) if _PATTERN.fullmatch(pattern.value) else as_opaque(node)


def _starts_with(node: exp.StartsWith) -> Predicate:
    column, prefix = as_column(node.this.unnest()), as_literal(node.args["expression"])
    if column is None or prefix is None or not isinstance(prefix.value, str):
        return as_opaque(node)
    return StartsWith(column, prefix.value)
