"""Expressions: one case for each form of Spark SQL that the catalogue has."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from typing import Any, Protocol

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import arrow_type, type_text
from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import VariableValue, variable_literal
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES, RANKS, Over
from headrace.pipeline.translation.catalogue.collection import common, element, struct_of
from headrace.pipeline.translation.catalogue.table import SCALAR
from headrace.pipeline.translation.catalogue.time import extract
from headrace.pipeline.translation.operator import (
    BINARY,
    compare,
    logical,
    negate,
    ordered,
    shift_date,
)
from headrace.pipeline.translation.pattern import like_parts
from headrace.pipeline.translation.refusal import Refused, unsupported, wrong
from headrace.pipeline.translation.scope import Output, Scope, field_of
from headrace.pipeline.translation.syntax import string_value
from headrace.pipeline.translation.typed import (
    Typed,
    call,
    identifier,
    literal_bool,
    literal_int,
    literal_micros,
    literal_text,
    native,
    quoted,
    sql_cast,
)

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}  # fmt: skip
_CASTING_NAMES = frozenset(
    {"bigint", "tinyint", "smallint", "int", "double", "float", "boolean", "string", "binary"}
)
"""Types whose names are also functions that cast to them."""
_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate)
_CLOCK_NAMES = frozenset({"now", "current_timestamp", "current_date", "curdate"})
_UNITS_US = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000,
    "hour": 3_600_000_000, "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
_UNITS_MONTHS = {"month": 1, "quarter": 3, "year": 12}


_CHANCE = {
    "rand": Typed("random()", t.DOUBLE),
    "random": Typed("random()", t.DOUBLE),
    "uuid": Typed("uuid()", t.STRING),
}
"""Other values in each run, on either engine."""


class Clock(Enum):
    """What stands for the time of a run."""

    RUNNING = "running"
    """The time itself: another one each run."""
    STOPPED = "stopped"
    """1970, so that planning does not put its own time into the plan."""


class Compiled(msgspec.Struct, frozen=True):
    """A query of DataFusion's, with the columns that it gives."""

    text: str
    columns: tuple[Output, ...]
    is_correlated: bool = False
    gives_one_row: bool = False
    """Whether it has exactly one row, whatever the data."""


class Subqueries(Protocol):
    """Compiles the queries inside expressions."""

    def query(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        """Compile a query that may name columns of `scope`."""


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
        subqueries: Subqueries,
    ) -> None:
        """Take the text, from which literals are read as they are written, and the settings."""
        self.sql, self.casts, self.functions = sql, casts, functions
        self.variables, self.clock, self.subqueries = variables, clock, subqueries
        self.windows: dict[str, exp.Expr] = {}
        """The windows that the query at hand names."""

    def value(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile an expression.

        Raises:
            Refused: the catalogue does not have it, or it is wrong.
        """
        found = self._value(node, scope)
        return scope.groups.get(found.text, found)

    def boolean(self, node: exp.Expr, scope: Scope) -> Typed:
        """Compile a condition, in which a null counts as false.

        Raises:
            Refused: as for `value`, or it is no condition.
        """
        match node:
            case exp.Paren():
                return self.boolean(node.this, scope)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                sides = self.boolean(node.left, scope), self.boolean(node.right, scope)
                return logical(word, *sides)
            case exp.Not() if isinstance(node.this, exp.In) and node.this.args.get("query"):
                return self._not_in_query(node.this, scope)
            case exp.In() if node.args.get("query"):
                return self._in_query(node, scope)
            case _:
                found = self.value(node, scope)
        if found.type == t.VOID:
            return Typed(sql_cast("NULL", t.BOOLEAN), t.BOOLEAN)
        if found.type != t.BOOLEAN:
            raise wrong(node, f"a condition is a BOOLEAN, not {type_text(found.type)}")
        return found

    def _value(self, node: exp.Expr, scope: Scope) -> Typed:  # noqa: C901, PLR0912
        match node:
            case exp.Paren() | exp.Alias():
                return self.value(node.this, scope)
            case exp.Literal() | exp.RawString() | exp.National():
                return self._literal(node)
            case exp.Boolean():
                return literal_bool(value=bool(node.this))
            case exp.Null():
                return Typed("NULL", t.VOID, is_literal=True)
            case exp.HexString():
                digits = node.name if len(node.name) % 2 == 0 else f"0{node.name}"
                text = sql_cast(f"decode({quoted(digits)}, 'hex')", t.BINARY)
                return Typed(text, t.BINARY)
            case exp.Placeholder():
                return self._value(variable_literal(self.variables[node.name]), scope)
            case exp.Column():
                return scope.find(node)
            case exp.Neg():
                return self._negate(node, scope)
            case exp.Cast() | exp.TryCast():
                return self._cast(node, scope)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                return logical(word, self._truth(node.left, scope), self._truth(node.right, scope))
            case exp.Not():
                return native("(NOT {0})", t.BOOLEAN, self._truth(node.this, scope))
            case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
                return self._shift(node, node.this, node.expression, scope)
            case exp.Add() if isinstance(node.this, exp.Interval):
                return self._shift(node, node.expression, node.this, scope)
            case _ if type(node) in _OPERATORS:
                return self._operator(node, _OPERATORS[type(node)], scope)
            case exp.Between():
                return self._between(node, scope)
            case exp.In():
                return self._in(node, scope)
            case exp.Is():
                return self._is(node, scope)
            case exp.Escape() | exp.Like():
                return self._like(node, scope)
            case exp.RegexpLike():
                return self._call("rlike", [node.this, node.expression], node, scope)
            case exp.DPipe():
                return self._call("concat", [node.this, node.expression], node, scope)
            case exp.BitwiseNot():
                value = self.value(node.this, scope)
                if not t.is_integer(value.type):
                    raise unsupported(node, "~ takes a whole number")
                minus_one = literal_int(-1, value.type)
                return native("({0} ^ {1})", value.type, value, minus_one)
            case exp.Case():
                return self._case(node, scope)
            case exp.If():
                branches = [node.this, node.args["true"], node.args.get("false") or exp.Null()]
                return self._call("if", branches, node, scope)
            case exp.Bracket() if len(node.expressions) == 1:
                return self._bracket(node, scope)
            case exp.Dot():
                return field_of(self.value(node.this, scope), node.expression.name, node)
            case exp.Extract():
                value = self.value(node.expression, scope)
                return self._known(extract(self.casts, node.name, value), node)
            case exp.Trim():
                return self._trim(node, scope)
            case exp.Substring():
                parts = [node.this, node.args.get("start"), node.args.get("length")]
                return self._call("substring", [p for p in parts if p], node, scope)
            case exp.StrPosition():
                parts = [node.args["substr"], node.this, node.args.get("position")]
                return self._call("locate", [p for p in parts if p], node, scope)
            case exp.CurrentTimestamp() | exp.CurrentDate():
                return self._clock(node, is_date=isinstance(node, exp.CurrentDate))
            case exp.Anonymous():
                return self._anonymous(node, scope)
            case exp.Filter() | exp.Window():
                return self._window(node, scope)
            case exp.Subquery():
                return self._scalar_query(node, scope)
            case exp.Exists():
                inner = self.subqueries.query(node.this, scope)
                return Typed(f"EXISTS ({inner.text})", t.BOOLEAN)
            case _:
                raise unsupported(node, "the catalogue has no such form")

    def _known(self, found: Typed | None, node: exp.Expr, *values: Typed) -> Typed:
        if found is not None:
            return found
        kinds = ", ".join(type_text(value.type) for value in values)
        over = f" for ({kinds})" if values else ""
        raise unsupported(node, f"the catalogue does not have it{over}")

    def _truth(self, node: exp.Expr, scope: Scope) -> Typed:
        found = self.value(node, scope)
        if found.type == t.VOID:
            return Typed(sql_cast("NULL", t.BOOLEAN), t.BOOLEAN)
        if found.type != t.BOOLEAN:
            raise unsupported(node, f"AND, OR and NOT take BOOLEAN, not {type_text(found.type)}")
        return found

    def _literal(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.RawString | exp.National):
            return literal_text(node.name)
        if node.args.get("is_string"):
            start = node.meta.get("start")
            if start is None:
                return literal_text(node.name)
            return literal_text(string_value(self.sql[start : node.meta["end"] + 1]))
        return _number(node.name)

    def _negate(self, node: exp.Neg, scope: Scope) -> Typed:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return _number(f"-{inner.name}")
        if isinstance(inner, exp.Cast) and _is_number_literal(inner.this):
            return self._cast_literal(f"-{inner.this.name}", inner, node)
        value = self.value(inner, scope)
        return self._known(negate(self.casts, value), node, value)

    def _cast(self, node: exp.Cast, scope: Scope) -> Typed:
        if _is_number_literal(node.this) and not isinstance(node, exp.TryCast):
            return self._cast_literal(node.this.name, node, node)
        value = self.value(node.this, scope)
        kind = _type(node)
        soft = isinstance(node, exp.TryCast)
        found = self.casts.cast(value, kind, soft=soft)
        if found is None:
            reason = f"the catalogue has no cast from {type_text(value.type)} to {type_text(kind)}"
            raise unsupported(node, reason)
        return found

    def _cast_literal(self, digits: str, cast: exp.Cast, node: exp.Expr) -> Typed:
        kind = _type(cast)
        if kind in (t.DOUBLE, t.FLOAT):
            return Typed(sql_cast(quoted(digits), kind), kind, is_literal=True, value=float(digits))
        found = self.casts.cast(_number(digits), kind)
        return self._known(found, node)

    def _operator(self, node: exp.Expr, operator: str, scope: Scope) -> Typed:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        return self._known(BINARY[operator](self.casts, left, right), node, left, right)

    def _shift(self, node: exp.Expr, date: exp.Expr, interval: exp.Interval, scope: Scope) -> Typed:
        length = _interval(interval)
        if length is None:
            raise unsupported(node, "the catalogue has only intervals of one unit")
        sign = -1 if isinstance(node, exp.Sub) else 1
        value = self.value(date, scope)
        months, micros = (sign * part for part in length)
        return self._known(shift_date(self.casts, value, months, micros), node, value)

    def _between(self, node: exp.Between, scope: Scope) -> Typed:
        value, low, high = (
            self.value(part, scope) for part in (node.this, node.args["low"], node.args["high"])
        )
        above = self._known(compare(self.casts, ">=", value, low), node, value, low)
        below = self._known(compare(self.casts, "<=", value, high), node, value, high)
        return logical("AND", above, below)

    def _in(self, node: exp.In, scope: Scope) -> Typed:
        if node.args.get("query") is not None:
            raise unsupported(node, "IN (SELECT ...) is there only where a null counts as false")
        if not node.expressions:
            raise unsupported(node, "the catalogue has no IN of this form")
        value = self.value(node.this, scope)
        options = [self.value(option, scope) for option in node.expressions]
        values = common(self.casts, [value, *options])
        if values is not None and t.is_orderable(values[0].type):
            first, *rest = map(ordered, values)
            texts = ", ".join(option.text for option in rest)
            fails = any(v.can_fail for v in values)
            return Typed(f"({first.text} IN ({texts}))", t.BOOLEAN, can_fail=fails)
        if t.STRING not in {v.type for v in (value, *options)} or len(options) > 1:
            kinds = {v.type for v in options}
            if len(kinds) > 1:
                raise unsupported(node, "the options of IN have different types")
        parts = [compare(self.casts, "=", value, option) for option in options]
        known = [self._known(part, node, value, options[0]) for part in parts]
        text = " OR ".join(part.text for part in known)
        return Typed(f"({text})", t.BOOLEAN, can_fail=any(part.can_fail for part in known))

    def _in_query(self, node: exp.In, scope: Scope) -> Typed:
        value, inner, equal = self._membership(node, scope)
        if value.type == inner.columns[0].type and not t.is_float(value.type):
            return Typed(f"({value.text} IN ({inner.text}))", t.BOOLEAN, can_fail=value.can_fail)
        return Typed(f"EXISTS (SELECT 1 FROM ({inner.text}) AS q(c) WHERE {equal})", t.BOOLEAN)

    def _not_in_query(self, node: exp.In, scope: Scope) -> Typed:
        """Rows that are in no case in the query: it has no null, or the row itself is none."""
        value, inner, equal = self._membership(node, scope)
        rows = f"({inner.text}) AS q(c)"
        parts = [f"NOT EXISTS (SELECT 1 FROM {rows} WHERE {equal})"]
        if inner.columns[0].nullable:
            parts.append(f"(SELECT count(*) FROM {rows} WHERE q.c IS NULL) = 0")
        if value.nullable:
            parts.append(f"({value.text} IS NOT NULL OR (SELECT count(*) FROM {rows}) = 0)")
        return Typed(f"({' AND '.join(parts)})", t.BOOLEAN)

    def _membership(self, node: exp.In, scope: Scope) -> tuple[Typed, Compiled, str]:
        query = node.args["query"]
        inner = self.subqueries.query(
            query.this if isinstance(query, exp.Subquery) else query, scope
        )
        value = self.value(node.this, scope)
        if len(inner.columns) != 1:
            raise wrong(node, f"the query gives {len(inner.columns)} columns, not one")
        if inner.is_correlated:
            raise unsupported(node, "the query names a column of the one around it; use EXISTS")
        column = Typed("q.c", inner.columns[0].type)
        equal = self._known(compare(self.casts, "=", value, column), node, value, column)
        return value, inner, equal.text

    def _is(self, node: exp.Is, scope: Scope) -> Typed:
        value = self.value(node.this, scope)
        other = node.expression
        if isinstance(other, exp.Null):
            return native("({0} IS NULL)", t.BOOLEAN, value)
        if isinstance(other, exp.Boolean) and value.type == t.BOOLEAN:
            return native(f"({{0}} IS {'TRUE' if other.this else 'FALSE'})", t.BOOLEAN, value)
        raise unsupported(node, "the catalogue has only IS NULL, IS TRUE and IS FALSE")

    def _like(self, node: exp.Expr, scope: Scope) -> Typed:
        escape = "\\"
        like = node
        if isinstance(node, exp.Escape):
            like = node.this
            written = self.value(node.expression, scope)
            if not written.is_text() or len(written.value) != 1:
                raise unsupported(node, "ESCAPE takes one character")
            escape = written.value
        value, pattern = self.value(like.this, scope), self.value(like.expression, scope)
        value = self._known(self.casts.cast(value, t.STRING), node, value)
        parts = like_parts(pattern.value, escape) if pattern.is_text() else None
        if parts is None:
            raise unsupported(node, "LIKE takes a literal pattern, with escapes only of % and _")
        word = "NOT LIKE" if like.args.get("negate") else "LIKE"
        return Typed(f"({value.text} {word} {quoted(parts)})", t.BOOLEAN, can_fail=value.can_fail)

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        base = None if node.this is None else self.value(node.this, scope)
        tests, results = [], []
        for branch in node.args["ifs"]:
            if base is None:
                tests.append(self._truth(branch.this, scope))
            else:
                other = self.value(branch.this, scope)
                equal = compare(self.casts, "=", base, other)
                tests.append(self._known(equal, node, base, other))
            results.append(self.value(branch.args["true"], scope))
        default = node.args.get("default")
        if default is not None:
            results.append(self.value(default, scope))
        values = common(self.casts, results)
        if values is None or values[0].type == t.VOID:
            raise unsupported(node, "the branches have no type in common")
        branches = " ".join(
            f"WHEN {test.text} THEN {value.text}"
            for test, value in zip(tests, values, strict=False)
        )
        last = f" ELSE {values[-1].text}" if default is not None else ""
        fails = any(part.can_fail for part in (*tests, *values))
        return Typed(f"CASE {branches}{last} END", values[0].type, can_fail=fails)

    def _bracket(self, node: exp.Bracket, scope: Scope) -> Typed:
        value = self.value(node.this, scope)
        key = self.value(node.expressions[0], scope)
        if pa.types.is_struct(value.type) and key.is_text():
            return field_of(value, key.value, node)
        return self._known(element(self.casts, value, key), node, value, key)

    def _trim(self, node: exp.Trim, scope: Scope) -> Typed:
        side = {"": "both", "BOTH": "both", "LEADING": "left", "TRAILING": "right"}[
            str(node.args.get("position") or "").upper()
        ]
        text = self.value(node.this, scope)
        values = [self._known(self.casts.cast(text, t.STRING), node, text)]
        letters = node.args.get("expression")
        if letters is not None:
            values.append(self.value(letters, scope))
        if any(value.type != t.STRING for value in values):
            raise unsupported(node, "TRIM takes texts")
        return call("trim", t.STRING, *values, parameters=(side,))

    def _clock(self, node: exp.Expr, *, is_date: bool) -> Typed:
        now = literal_micros(0, t.TIMESTAMP)
        if self.clock is Clock.RUNNING:
            now = Typed(sql_cast("NOW()", t.TIMESTAMP), t.TIMESTAMP)
        return self._known(self.casts.cast(now, t.DATE), node) if is_date else now

    def _anonymous(self, node: exp.Anonymous, scope: Scope) -> Typed:
        name = node.name.casefold()
        if name in AGGREGATES:
            return self._aggregate(node, scope, Over())
        if name in _CLOCK_NAMES and not node.expressions:
            return self._clock(node, is_date="dat" in name and "stamp" not in name)
        if name in _CHANCE and not node.expressions:
            return _CHANCE[name]
        if name in self.functions:
            return self._function(node, scope)
        if name == "struct":
            return self._struct(node, scope)
        if name in _CASTING_NAMES and len(node.expressions) == 1:
            cast = exp.cast(node.expressions[0].copy(), name, dialect="spark")
            return self._cast(cast, scope)
        if name in RANKS:
            raise unsupported(node, "it needs a window: OVER (...)")
        if name not in SCALAR:
            if name not in spark_functions():
                close = get_close_matches(name, [*self.functions.entries, *spark_functions()], n=1)
                raise wrong(node, "there is no such function", close[0] if close else None)
            raise unsupported(node, "the catalogue does not have this function")
        return self._call(name, node.expressions, node, scope)

    def _call(
        self, name: str, arguments: Sequence[exp.Expr], node: exp.Expr, scope: Scope
    ) -> Typed:
        if any(isinstance(argument, exp.Star | exp.Lambda | exp.Kwarg) for argument in arguments):
            raise unsupported(node, "the catalogue has only plain arguments")
        values = [self.value(argument, scope) for argument in arguments]
        return self._known(SCALAR.translate(name, self.casts, values), node, *values)

    def _struct(self, node: exp.Anonymous, scope: Scope) -> Typed:
        names, values = [], []
        for place, part in enumerate(node.expressions, 1):
            named = isinstance(part, exp.Alias | exp.Column)
            names.append(part.alias_or_name if named else f"col{place}")
            values.append(self.value(part, scope))
        if not values:
            raise unsupported(node, "a struct has at least one field")
        return struct_of(names, values)

    def _function(self, node: exp.Anonymous, scope: Scope) -> Typed:
        """A function of the project's own."""
        function = self.functions[node.name.casefold()]
        types = function.signature.argument_types(len(node.expressions))
        if types is None:
            reason = f"it takes {function.signature}, not {len(node.expressions)} arguments"
            raise wrong(node, reason)
        values = [self.value(argument, scope) for argument in node.expressions]
        cast = [
            self._known(self.casts.cast(value, kind), node, value)
            for value, kind in zip(values, types, strict=True)
        ]
        texts = ", ".join(value.text for value in cast)
        name = identifier(function.overload(len(values)))
        return Typed(f"{name}({texts})", function.signature.returns, can_fail=True)

    def _aggregate(self, node: exp.Anonymous, scope: Scope, over: Over) -> Typed:
        entry = AGGREGATES[node.name.casefold()]
        arguments = list(node.expressions)
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            over = msgspec.structs.replace(over, distinct=True)
            arguments = list(arguments[0].expressions)
        if [type(argument) for argument in arguments] == [exp.Star]:
            arguments = []
        plain = Scope(scope.columns, scope.parent, scope.aliases, scope.prefers_aliases)
        values = [self.value(argument, plain) for argument in arguments]
        scope.is_correlated |= plain.is_correlated
        if over.distinct and over.window is not None:
            raise unsupported(node, "DISTINCT over a window")
        if entry.name != "count" and len(values) != 1:
            raise wrong(node, f"it takes one argument, not {len(values)}")
        return self._known(entry.build(self.casts, over, values), node, *values)

    def _window(self, node: exp.Expr, scope: Scope) -> Typed:
        inner, over = node, Over()
        if isinstance(node, exp.Window):
            inner = node.this
            over = Over(window=self._frame(node, scope))
        if isinstance(inner, exp.Filter):
            plain = Scope(scope.columns, scope.parent, scope.aliases, scope.prefers_aliases)
            condition = self.boolean(inner.expression.this, plain)
            over = msgspec.structs.replace(over, condition=condition.text)
            inner = inner.this
        if not isinstance(inner, exp.Anonymous):
            raise unsupported(node, "the catalogue has no such window function")
        name = inner.name.casefold()
        if name in AGGREGATES:
            return self._aggregate(inner, scope, over)
        if over.window is None or over.condition is not None:
            raise unsupported(node, "the catalogue has no such aggregate")
        return self._positional(node, inner, name, over.window, scope)

    def _positional(
        self, node: exp.Expr, inner: exp.Anonymous, name: str, window: str, scope: Scope
    ) -> Typed:
        values = [self.value(argument, scope) for argument in inner.expressions]
        if "ORDER BY" not in window:
            raise unsupported(node, "without ORDER BY the rows have no order")
        if name in RANKS and not values:
            return Typed(sql_cast(f"{name}() OVER ({window})", RANKS[name]), RANKS[name])
        is_tile = name == "ntile" and len(values) == 1 and t.is_integer(values[0].type)
        if is_tile and values[0].is_literal and values[0].value > 0:
            text = f"ntile({sql_cast(str(values[0].value), t.LONG)}) OVER ({window})"
            return Typed(sql_cast(text, t.INT), t.INT)
        if name in {"lag", "lead"} and values and all(v.is_literal for v in values[1:]):
            return self._neighbour(node, name, window, values)
        if name in {"first_value", "first", "last_value", "last"} and len(values) == 1:
            word = "first_value" if name.startswith("first") else "last_value"
            return Typed(f"{word}({values[0].text}) OVER ({window})", values[0].type)
        raise unsupported(node, "the catalogue has no such window function")

    def _neighbour(self, node: exp.Expr, name: str, window: str, values: Sequence[Typed]) -> Typed:
        """`lag` and `lead`."""
        value, *more = values
        offset = more[0].value if more else 1
        if pa.types.is_nested(value.type) or not isinstance(offset, int) or offset < 0:
            raise unsupported(node, "the catalogue has it only for plain types and offsets")
        last = ""
        if len(more) > 1:
            default = self.casts.cast(more[1], value.type)
            if default is None or not default.is_literal:
                raise unsupported(node, "the default is of another type")
            last = f", {default.text}"
        return Typed(f"{name}({value.text}, {offset}{last}) OVER ({window})", value.type)

    def _frame(self, node: exp.Window, scope: Scope) -> str:
        """What stands in the brackets of OVER."""
        if node.args.get("alias") is not None:
            named = self.windows.get(node.args["alias"].name.casefold())
            if named is None:
                raise wrong(node, "there is no such window")
            if any(node.args.get(key) for key in ("partition_by", "order", "spec")):
                raise unsupported(node, "a named window that is changed")
            node = named  # type: ignore[assignment]
        parts = []
        keys = [ordered(self.value(key, scope)) for key in node.args.get("partition_by") or ()]
        for key in keys:
            if not t.is_orderable(key.type):
                raise unsupported(node, "PARTITION BY a nested type")
        if keys:
            parts.append("PARTITION BY " + ", ".join(key.text for key in keys))
        order = node.args.get("order")
        if order is not None:
            parts.append(
                "ORDER BY " + ", ".join(self.sort_key(k, scope) for k in order.expressions)
            )
        spec = node.args.get("spec")
        if spec is not None:
            parts.append(_frame_text(spec, node))
        return " ".join(parts)

    def sort_key(
        self, node: exp.Expr, scope: Scope, shown: Callable[[Typed], str] | None = None
    ) -> str:
        """A key of ORDER BY, with the place of nulls written out."""
        value = self.value(node.this if isinstance(node, exp.Ordered) else node, scope)
        if not t.is_orderable(value.type):
            raise unsupported(node, f"ORDER BY {type_text(value.type)}")
        down = isinstance(node, exp.Ordered) and bool(node.args.get("desc"))
        first = not down
        if isinstance(node, exp.Ordered):
            written = node.args.get("nulls_first")
            first = bool(written) if written is not None else first
        text = ordered(value).text
        if shown is not None and text == value.text:
            text = shown(value)
        return f"{text} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"

    def _scalar_query(self, node: exp.Subquery, scope: Scope) -> Typed:
        inner = self.subqueries.query(node.this, scope)
        if len(inner.columns) != 1:
            raise wrong(node, f"a scalar query gives one column, not {len(inner.columns)}")
        if not inner.gives_one_row:
            raise unsupported(node, "it may give more than one row; aggregate it")
        return Typed(f"({inner.text})", inner.columns[0].type)


def _is_number_literal(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _number(digits: str) -> Typed:
    """A number as Spark types it: INT, BIGINT, DECIMAL, or DOUBLE if it has an exponent."""
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


def _type(node: exp.Cast) -> pa.DataType:
    kind = node.to
    if kind.this in {exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR}:
        raise unsupported(node, "the catalogue has no VARCHAR and CHAR")
    try:
        return arrow_type(kind)
    except ValueError as error:
        raise unsupported(node, str(error)) from error


def _interval(node: exp.Interval) -> tuple[int, int] | None:
    """Months and microseconds of an interval; None if it is not of one unit."""
    unit, amount = node.args.get("unit"), node.this
    if isinstance(amount, exp.Neg):
        amount = exp.Literal.number(f"-{amount.this.name}")
    if not isinstance(unit, exp.Var) or not isinstance(amount, exp.Literal):
        return None
    if not re.fullmatch(r"[+-]?\d+", amount.name):
        return None
    name = unit.name.casefold().removesuffix("s")
    count = int(amount.name)
    if name in _UNITS_MONTHS:
        return count * _UNITS_MONTHS[name], 0
    return (0, count * _UNITS_US[name]) if name in _UNITS_US else None


def _frame_text(spec: exp.Expr, node: exp.Expr) -> str:
    kind = str(spec.args.get("kind")).upper()
    bounds = []
    for side in ("start", "end"):
        value = spec.args.get(side)
        place = str(spec.args.get(f"{side}_side") or "")
        if value is None:
            value, place = "CURRENT ROW", ""
        if isinstance(value, exp.Expr):
            if kind != "ROWS" or not _is_number_literal(value):
                raise unsupported(node, "a frame counts rows, by a literal")
            value = value.name
        bounds.append(f"{value} {place}".strip())
    return f"{kind} BETWEEN {bounds[0]} AND {bounds[1]}"


__all__ = ["Any", "Clock", "Compiled", "Expressions", "Refused"]
