"""Translates expressions: one case for each form of Spark SQL that the catalogue has.

A syntax node and the visible names enter; a DataFusion expression with its Spark type leaves. Any
other form is refused.
"""

from collections.abc import Mapping

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import VariableValue, variable_literal
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.call import (
    bracket,
    call_entry,
    clock_time,
    named_call,
    struct,
    trim,
)
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.time import extract
from headrace.pipeline.translation.closed_syntax import check_argument_count
from headrace.pipeline.translation.compiler import (
    Clock,
    Placement,
    Subqueries,
    or_refuse,
    three_valued,
)
from headrace.pipeline.translation.condition import (
    between,
    case_when,
    in_list,
    is_test,
    like,
    mixes_equality,
    without_null_safe,
)
from headrace.pipeline.translation.interval_type import has_no_column
from headrace.pipeline.translation.literal import cast_value, interval, literal, negation
from headrace.pipeline.translation.operator import BINARY, logical
from headrace.pipeline.translation.proof import Proofs
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope, field_of
from headrace.pipeline.translation.subquery import exists, in_query, not_in_query, scalar_query
from headrace.pipeline.translation.typed import (
    Typed,
    literal_bool,
    literal_int,
    native,
    quoted,
    sql_cast,
)
from headrace.pipeline.translation.window import window

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>", exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}  # fmt: skip
_KEYWORD_SYNTAX: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Substring: ("substring", "this", "start", "length"),
    exp.StrPosition: ("locate", "substr", "this", "position"),
    exp.Overlay: ("overlay", "this", "expression", "from_", "for_"),
}
"""Functions with keywords between their arguments: the function, and the parts in its order."""


_NULL = Typed(sql_cast("NULL", t.BOOLEAN), t.BOOLEAN)


class Expressions:
    """Compiles the expressions of one query."""

    def __init__(  # noqa: PLR0913
        self,
        sql: str,
        *,
        casts: Casts,
        functions: Catalog,
        variables: Mapping[str, VariableValue],
        clock: Clock,
        placement: Placement,
        subqueries: Subqueries,
    ) -> None:
        """Take the query text, from which literals are read as written, and the settings."""
        self.sql, self.casts, self.functions = sql, casts, functions
        self.variables, self.clock, self.subqueries = variables, clock, subqueries
        self.placement = placement
        self.windows: dict[str, exp.Expr] = {}
        """The named windows of the current query."""
        self.fallible = 0
        """How many expressions so far raise for some values."""
        self.proofs = Proofs(functions)

    def value(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile an expression.

        Raises:
            Refused: the catalogue does not have it, or it is wrong.
        """
        check_argument_count(node)
        casts_before = len(self.casts.fallible)
        expression = self._value(node, scope)
        self.proofs.check(expression, node)
        self.proofs.check_constant(expression, node)
        self.proofs.check_casts(self.casts.fallible[casts_before:], expression, node)
        del self.casts.fallible[casts_before:]
        self.fallible += expression.can_fail
        if pa.types.is_nested(expression.type) and has_no_column(expression.type):
            raise unsupported(node, "the catalogue has no intervals and no TIME inside other types")
        return scope.groups.get(expression.text, expression)

    def boolean(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile a condition, in which null counts as false.

        Raises:
            Refused: as for `value`, or it is not a condition.
        """
        condition = self._condition(node, scope)
        if condition.type == t.VOID:
            raise wrong(node, "a condition is a BOOLEAN, not VOID")
        return condition

    def _condition(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile a condition or a part of one; NULL alone is VOID."""
        match node:
            case exp.Paren():
                inner = self._condition(node.this, scope)
                self.proofs.check_constant(inner, node)
                return inner
            case exp.And() if not isinstance(node.parent, exp.And) and mixes_equality(node):
                return self._condition(without_null_safe(node), scope)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                sides = [self._condition(side, scope) for side in (node.left, node.right)]
                if isinstance(node, exp.And) and any(side.can_fail for side in sides):
                    self._refuse_next_to_null(node, scope)
                both = logical(word, *(_NULL if s.type == t.VOID else s for s in sides))
                self.proofs.check_constant(both, node)
                return both
            case exp.Not() if _is_in_query(node.this.unnest()):
                return not_in_query(self, node.this.unnest(), scope)
            case exp.In() if _is_in_query(node):
                return in_query(self, node, scope)
            case _:
                condition = self.value(node, scope)
        if condition.type not in (t.BOOLEAN, t.VOID):
            raise wrong(node, f"a condition is a BOOLEAN, not {type_text(condition.type)}")
        return condition

    def _refuse_next_to_null(self, node: exp.And, scope: Scope) -> None:
        """Refuse a test that can raise, in a conjunction that is never true because of a null."""
        for part in node.flatten():
            condition = self._condition(part, scope)
            if condition.is_null or condition.type == t.VOID:
                raise unsupported(node, "Spark evaluates nothing that is combined with NULL by AND")

    def _value(self, node: exp.Expr, scope: Scope) -> Typed:  # noqa: C901, PLR0912
        match node:
            case exp.Paren() | exp.Alias():
                return self.value(node.this, scope)
            case exp.Literal() | exp.RawString() | exp.National():
                return literal(self, node)
            case exp.Boolean():
                return literal_bool(value=bool(node.this))
            case exp.Null():
                return Typed("NULL", t.VOID, is_literal=True)
            case exp.HexString():
                digits = node.name if len(node.name) % 2 == 0 else f"0{node.name}"
                text = sql_cast(f"decode({quoted(digits)}, 'hex')", t.BINARY)
                return Typed(text, t.BINARY)
            case exp.Placeholder():
                if node.name not in self.variables:
                    raise wrong(node, "the project has no such variable")
                return self._value(variable_literal(self.variables[node.name]), scope)
            case exp.Column():
                return scope.find(node)
            case exp.Identifier():  # a parameter of a lambda
                return scope.find(exp.Column(this=node.copy()))
            case exp.Tuple():
                return struct(self, node, scope)
            case exp.Neg():
                return negation(self, node, scope)
            case exp.Cast() | exp.TryCast():
                return cast_value(self, node, scope)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                return logical(
                    word,
                    three_valued(self, node.left, scope),
                    three_valued(self, node.right, scope),
                )
            case exp.Not():
                return native("(NOT {0})", t.BOOLEAN, three_valued(self, node.this, scope))
            case exp.Interval():
                return interval(node)
            case _ if type(node) in _OPERATORS:
                return self._operator(node, _OPERATORS[type(node)], scope)
            case exp.Between():
                return between(self, node, scope)
            case exp.In():
                return in_list(self, node, scope)
            case exp.Is():
                return is_test(self, node, scope)
            case exp.Escape() | exp.Like() | exp.ILike():
                return like(self, node, scope)
            case exp.RegexpLike():
                return call_entry(self, "rlike", [node.this, node.expression], node, scope)
            case exp.DPipe():
                return call_entry(self, "concat", [node.this, node.expression], node, scope)
            case exp.BitwiseNot():
                value = self.value(node.this, scope)
                if not t.is_integer(value.type):
                    raise unsupported(node, "~ takes an integer")
                minus_one = literal_int(-1, value.type)
                return native("({0} ^ {1})", value.type, value, minus_one)
            case exp.Case():
                return case_when(self, node, scope)
            case exp.If():
                branches = [node.this, node.args["true"], node.args["false"]]
                return call_entry(self, "if", branches, node, scope)
            case exp.Bracket() if len(node.expressions) == 1:
                return bracket(self, node, scope)
            case exp.Dot():
                return field_of(self.value(node.this, scope), node.expression.name, node)
            case exp.Extract():
                value = self.value(node.expression, scope)
                return or_refuse(extract(self.casts, node.name, value), node)
            case exp.Trim():
                return trim(self, node, scope)
            case _ if type(node) in _KEYWORD_SYNTAX:
                name, *words = _KEYWORD_SYNTAX[type(node)]
                parts = [node.args.get(word) for word in words]
                return call_entry(self, name, [p for p in parts if p], node, scope)
            case exp.CurrentTimestamp() | exp.CurrentDate():
                return clock_time(self, node, scope, is_date=isinstance(node, exp.CurrentDate))
            case exp.Anonymous():
                return named_call(self, node, scope)
            case exp.Filter() | exp.Window() | exp.WithinGroup():
                return window(self, node, scope)
            case exp.Subquery():
                return scalar_query(self, node, scope)
            case exp.Exists():
                return exists(self, node, scope)
            case _:
                raise unsupported(node, "the catalogue has no such form")

    def _operator(self, node: exp.Expr, operator: str, scope: Scope) -> Typed:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        result = or_refuse(BINARY[operator](self.casts, left, right), node, left, right)
        is_null = any(side.is_null or side.type == t.VOID for side in (left, right))
        if operator in {"<=>", "IS DISTINCT FROM"} or not is_null:
            return result
        return msgspec.structs.replace(result, is_null=True)


def _is_in_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.In) and node.args.get("query") is not None
