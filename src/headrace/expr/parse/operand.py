"""The operands of a comparison: columns and literals. All other SQL is opaque.

A node of the parser's tree enters; a `Column`, a `Literal` or an `Opaque` leaves.
"""

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from headrace.expr.literal import number_literal, typed_decimal, typed_number, typed_text
from headrace.expr.node import Column, Literal, Opaque


def as_column(node: exp.Expr) -> Column | None:
    """Convert a node to a column or a struct member; None if it is neither."""
    below: list[str] = []
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        below.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column):
        return None
    return Column((*(part.name for part in node.parts), *reversed(below)))


def as_literal(node: exp.Expr, *, sign: int = 1) -> Literal | None:
    """Convert a node to a literal, possibly cast; None if it is not a supported literal.

    Raises:
        ValueError: Spark rejects the literal.
    """
    node = node.unnest()
    match node:
        case exp.Neg():
            return as_literal(node.this, sign=-sign)
        case exp.Literal(is_string=False):
            return number_literal(node.name, sign=sign)
        case exp.Cast():
            return _cast(node, sign=sign)
        case _ if sign < 0:
            return None  # only numbers have a sign
        case exp.Literal() | exp.RawString():
            return Literal(node.name)
        case exp.Concat() if all(map(_is_text, node.expressions)):
            return Literal("".join(part.name for part in node.expressions))
        case exp.HexString():
            return Literal(bytes.fromhex(node.name))
        case exp.Boolean():
            return Literal(bool(node.this))
        case exp.Null():
            return Literal(None)
        case _:
            return None


def as_opaque(node: exp.Expr) -> Opaque:
    """Convert a condition that is not evaluated here: its SQL, and the columns that it reads."""
    columns: dict[Column, None] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        column = as_column(part)
        if column is not None:
            columns[column] = None
        else:
            waiting += part.iter_expressions(reverse=True)
    sql = node.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.IGNORE)
    return Opaque(sql, tuple(columns))


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
