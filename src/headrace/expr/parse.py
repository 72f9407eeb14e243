"""SQL text to a predicate, in Spark's dialect.

The only module that knows the parser. What is legal SQL but not a comparison of a column with
a literal becomes opaque; what is no condition on a row at all is an error.
"""

import re
from collections.abc import Iterator

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from headrace.errors import PredicateSyntaxError
from headrace.expr.literal import fold, number_literal, typed_decimal, typed_number, typed_text
from headrace.expr.node import (
    And,
    Column,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

_MAX_BRACKETS = 32
_PATTERN = re.compile(r"(?:[^\\]|\\[%_\\])*", re.DOTALL)
_MAX_DEPTH = 64
_OPENING = frozenset((TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE))
_CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE))
_TOO_DEEP = "it is nested too deeply"
_OPERATORS: dict[type[exp.Expr], CompareOp] = {
    exp.EQ: CompareOp.EQ,
    exp.NEQ: CompareOp.NE,
    exp.LT: CompareOp.LT,
    exp.LTE: CompareOp.LE,
    exp.GT: CompareOp.GT,
    exp.GTE: CompareOp.GE,
    exp.NullSafeEQ: CompareOp.SAFE_EQ,
}
_REFUSED: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Command,), "it is not a condition"),
    ((exp.Query, exp.Values), "a subquery has no place in it"),
    ((exp.AggFunc, exp.Window), "an aggregate has no place in it"),
    ((exp.UDTF,), "a function that makes rows has no place in it"),
    ((exp.Placeholder, exp.Parameter), "its parameters must be filled in first"),
    ((exp.Star,), "a star has no place in it"),
)


def parse_predicate(text: str) -> Predicate:
    """Parse one condition.

    Raises:
        PredicateSyntaxError: the text is not one condition of Spark SQL.
    """
    try:
        return _predicate(_tree(text), depth=0)
    except ParseError as error:
        raise _located(text, error) from error
    except RecursionError as error:
        raise PredicateSyntaxError(predicate=text, reason=_TOO_DEEP) from error
    except SqlglotError as error:
        reason = "a quote or comment is not closed, or a literal is cut short"
        raise PredicateSyntaxError(predicate=text, reason=reason) from error
    except ValueError as error:
        raise PredicateSyntaxError(predicate=text, reason=str(error)) from error


def _tree(text: str) -> exp.Expr:
    dialect = Spark()
    tokens = _checked_tokens(text, dialect.tokenize(text))
    try:
        tree = dialect.parser().parse_into(exp.Condition, tokens, text)[0] if tokens else None
    except (SqlglotError, RecursionError):
        raise
    except Exception as error:  # the parser has no one error for nonsense
        raise ValueError("it is not SQL") from error
    if tree is None:
        raise ValueError("it is empty")
    for reason in filter(None, map(_refusal, tree.walk())):
        raise ValueError(reason)
    return tree


def _refusal(node: exp.Expr) -> str | None:
    """Why a node has no place in a condition on a row."""
    return next((reason for kinds, reason in _REFUSED if isinstance(node, kinds)), None)


def _checked_tokens(text: str, tokens: list[Token]) -> list[Token]:
    """Refuse what the parser would let pass or break at, and join doubled quotes."""
    text.encode()  # a lone surrogate is an error of its own
    checked: list[Token] = []
    open_brackets = 0
    for token in tokens:
        open_brackets += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if open_brackets > _MAX_BRACKETS:
            raise ValueError(_TOO_DEEP)
        if token.token_type is TokenType.SEMICOLON:
            raise ValueError("a semicolon has no place in it")
        if token.token_type is TokenType.HEX_STRING and text[token.start] == "0":
            raise ValueError(f"0x{token.text} is no Spark literal: write X'{token.text}'")
        if checked and _doubles_quote(text, checked[-1], token):
            first, quote = checked.pop(), text[token.start]
            joined = f"{first.text}{quote}{token.text}"
            token = Token(  # noqa: PLW2901 - the joined token takes the place of both
                TokenType.STRING, joined, token.line, token.col, first.start, token.end
            )
        checked.append(token)
    return checked


def _doubles_quote(text: str, first: Token, second: Token) -> bool:
    """Whether two strings are one in which a doubled quote stands for itself."""
    return (
        first.token_type is TokenType.STRING
        and second.token_type is TokenType.STRING
        and first.end + 1 == second.start
        and text[first.end] == text[second.start]
    )


def _located(text: str, error: ParseError) -> PredicateSyntaxError:
    found = error.errors[0] if error.errors else {}
    line, column = found.get("line"), found.get("col")
    position = None
    if line and column:
        before = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
        position = max(1, before + column - len(found.get("highlight") or "") + 1)
    reason = "something is missing" if "missing" in str(found) else "this was not expected"
    return PredicateSyntaxError(predicate=text, reason=reason, position=position)


def _predicate(node: exp.Expr, *, depth: int) -> Predicate:
    if depth > _MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
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
            raise ValueError(f"{node.sql(dialect='spark')} by itself is no condition")
        case _:
            return _leaf(node)


def _leaf(node: exp.Expr) -> Predicate:
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
            return _column(node) or _opaque(node)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a chain of one connector, in order, however long it is."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if type(part) is type(node):
            waiting += (part.args["expression"], part.this)
        else:
            yield part


def _comparison(node: exp.Expr, op: CompareOp) -> Predicate:
    left, right = node.this.unnest(), node.args["expression"].unnest()
    left_literal, right_literal = _literal(left), _literal(right)
    if left_literal is not None and right_literal is not None:
        return fold(left_literal, op, right_literal) or _opaque(node)
    if left_literal is not None:
        column = _column(right)
        return Compare(column, op.mirrored, left_literal) if column else _opaque(node)
    column = _column(left)
    if column is None or right_literal is None:
        return _opaque(node)
    return Compare(column, op, right_literal)


def _between(node: exp.Between) -> Predicate:
    if node.args.get("symmetric"):
        return _opaque(node)
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return And((_comparison(low, CompareOp.GE), _comparison(high, CompareOp.LE)))


def _in(node: exp.In) -> Predicate:
    if not any(node.args.get(key) for key in ("expressions", "query", "unnest", "field")):
        raise ValueError("the list behind IN is empty")
    column = _column(node.this.unnest())
    literals = [_literal(item) for item in node.expressions]
    if column is None or not literals or None in literals:
        return _opaque(node)
    return In(column, tuple(literal for literal in literals if literal is not None))


def _is(node: exp.Is) -> Predicate:
    column, test = _column(node.this.unnest()), node.args["expression"]
    match test:
        case exp.Null():
            return IsNull(column) if column else _opaque(node)
        case exp.Boolean():
            truth = Literal(bool(test.this))
            return Compare(column, CompareOp.SAFE_EQ, truth) if column else _opaque(node)
        case _:
            raise ValueError("IS is followed by neither NULL, TRUE, FALSE nor UNKNOWN")


def _like(node: exp.Like) -> Predicate:
    column, pattern = _column(node.this.unnest()), _literal(node.args["expression"])
    if column is None or pattern is None or not isinstance(pattern.value, str):
        return _opaque(node)
    prefix = pattern.value.rstrip("%")
    if prefix != pattern.value and not any(special in prefix for special in "%_\\"):
        return StartsWith(column, prefix)
    # What Spark takes for an error is left to it.
    return Like(column, pattern.value) if _PATTERN.fullmatch(pattern.value) else _opaque(node)


def _starts_with(node: exp.StartsWith) -> Predicate:
    column, prefix = _column(node.this.unnest()), _literal(node.args["expression"])
    if column is None or prefix is None or not isinstance(prefix.value, str):
        return _opaque(node)
    return StartsWith(column, prefix.value)


def _column(node: exp.Expr) -> Column | None:
    below: list[str] = []
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        below.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column):
        return None
    return Column((*(part.name for part in node.parts), *reversed(below)))


def _opaque(node: exp.Expr) -> Opaque:
    columns: dict[Column, None] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        column = _column(part)
        if column is not None:
            columns[column] = None
        else:
            waiting += part.iter_expressions(reverse=True)
    sql = node.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.IGNORE)
    return Opaque(sql, tuple(columns))


def _literal(node: exp.Expr, *, sign: int = 1) -> Literal | None:
    node = node.unnest()
    match node:
        case exp.Neg():
            return _literal(node.this, sign=-sign)
        case exp.Literal(is_string=False):
            return number_literal(node.name, sign=sign)
        case exp.Cast():
            return _cast(node, sign=sign)
        case _ if sign < 0:
            return None  # only numbers have a sign
        case exp.Literal() | exp.RawString():
            return Literal(node.name)
        case exp.Concat() if all(
            isinstance(e, exp.Literal) and e.is_string for e in node.expressions
        ):
            return Literal("".join(part.name for part in node.expressions))
        case exp.HexString():
            return Literal(bytes.fromhex(node.name))
        case exp.Boolean():
            return Literal(bool(node.this))
        case exp.Null():
            return Literal(None)
        case _:
            return None


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _cast(node: exp.Cast, *, sign: int) -> Literal | None:
    inner, target = node.this.unnest(), node.to
    if not isinstance(inner, exp.Literal):
        return None
    type_name = str(target.this.value)
    if type_name == "DECIMAL" and len(target.expressions) == 2:  # noqa: PLR2004 - digits, scale
        precision, scale = (int(part.name) for part in target.expressions)
        return typed_decimal(inner.name, precision, scale, sign=sign)
    if not inner.is_string:
        return typed_number(inner.name, type_name, sign=sign)
    return typed_text(inner.name, type_name) if sign > 0 else None
