"""Infers the numeric kind of an expression, as far as its text and the schemas allow.

In Spark, a quotient of integers is a double and a quotient of decimals is a decimal. A translation
must know the kinds before any runner has typed the query; a kind that is not certain is None.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

import pyarrow as pa
from sqlglot import exp

_Kind = exp.DataType.Type
_INTEGERS = frozenset({_Kind.TINYINT, _Kind.SMALLINT, _Kind.INT, _Kind.BIGINT})
_FLOATS = frozenset({_Kind.FLOAT, _Kind.DOUBLE})
_TRANSPARENT = (exp.Sum, exp.Min, exp.Max, exp.Paren, exp.Neg, exp.Abs, exp.Window)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Coalesce, exp.Greatest, exp.Least)
_COUNTS = (exp.Count, exp.CountIf, exp.RowNumber, exp.Rank, exp.Length, exp.Year, exp.Month)
_DEEPEST = 64


class NumericKind(Enum):
    """The kinds that Spark's arithmetic rules distinguish."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"


class Kinds:
    """The kinds of the columns visible to one query, and of its expressions."""

    def __init__(self, tree: exp.Query, schemas: Iterable[pa.Schema]) -> None:
        """Take the columns of all that the query reads, and the aliases that it defines."""
        self._columns: dict[str, set[NumericKind | None]] = {}
        for schema in schemas:
            for field in schema:
                kinds = self._columns.setdefault(field.name.casefold(), set())
                kinds.add(_kind_of_type(field.type))
        self._aliases: Mapping[str, exp.Expr] = {
            alias.alias.casefold(): alias.this for alias in tree.find_all(exp.Alias)
        }

    def of(self, node: exp.Expr, *, depth: int = 0) -> NumericKind | None:  # noqa: C901
        """Return the kind of an expression; None if it is not certain."""
        if depth > _DEEPEST:
            return None
        match node:
            case exp.Literal():
                return _literal(node)
            case exp.Column():
                return self._column(node, depth)
            case exp.Cast():
                return _kind_of_cast(node)
            case exp.Avg():
                inner = self.of(node.this, depth=depth + 1)
                return NumericKind.FLOAT if inner is NumericKind.INTEGER else inner
            case exp.Case():
                results = [branch.args["true"] for branch in node.args["ifs"]]
                return self._common([*results, *filter(None, [node.args.get("default")])], depth)
            case exp.If():
                return self._common(
                    [node.args["true"], *filter(None, [node.args.get("false")])], depth
                )
            case exp.Div():
                common = self._common([node.this, node.expression], depth)
                return common if common is NumericKind.DECIMAL else NumericKind.FLOAT
            case _ if isinstance(node, _COUNTS):
                return NumericKind.INTEGER
            case _ if isinstance(node, _TRANSPARENT):
                return self.of(node.this, depth=depth + 1)
            case _ if isinstance(node, _ARITHMETIC):
                sides = [node.this, *node.expressions, *filter(None, [node.args.get("expression")])]
                return self._common(sides, depth)
            case _:
                return None

    def _column(self, node: exp.Column, depth: int) -> NumericKind | None:
        name = node.name.casefold()
        kinds = set(self._columns.get(name, ()))
        if name in self._aliases and self._aliases[name] is not node:
            kinds.add(self.of(self._aliases[name], depth=depth + 1))
        return kinds.pop() if len(kinds) == 1 else None

    def _common(self, nodes: list[exp.Expr], depth: int) -> NumericKind | None:
        kinds = {self.of(node, depth=depth + 1) for node in nodes}
        for kind in (None, NumericKind.FLOAT, NumericKind.DECIMAL):
            if kind in kinds:
                return kind
        return NumericKind.INTEGER


def _literal(node: exp.Literal) -> NumericKind | None:
    if node.is_string:
        return None
    if node.is_int:
        return NumericKind.INTEGER
    return NumericKind.FLOAT if "e" in node.name.casefold() else NumericKind.DECIMAL


def _kind_of_cast(node: exp.Cast) -> NumericKind | None:
    if node.to.this in _INTEGERS:
        return NumericKind.INTEGER
    if node.to.this in _FLOATS:
        return NumericKind.FLOAT
    return NumericKind.DECIMAL if node.to.this is _Kind.DECIMAL else None


def _kind_of_type(data_type: pa.DataType) -> NumericKind | None:
    if pa.types.is_integer(data_type):
        return NumericKind.INTEGER
    if pa.types.is_floating(data_type):
        return NumericKind.FLOAT
    return NumericKind.DECIMAL if pa.types.is_decimal(data_type) else None
