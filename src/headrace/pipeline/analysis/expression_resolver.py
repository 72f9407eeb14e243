"""Resolves the expressions of a query: the columns that they use, and their mistakes.

It knows a closed set of forms; a name inside any other form is never reported as wrong.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.analysis.argument import (
    TAKES_UNIT,
    UNIT_CALL,
    check_call,
    check_operator,
)
from headrace.pipeline.analysis.lineage import ExpressionKind
from headrace.pipeline.analysis.name_scope import (
    NOTHING,
    Field,
    NameScope,
    Sources,
    inside,
    listed,
    nearest_name,
)
from headrace.pipeline.arrow_ddl import arrow_type
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.closed_syntax import FORMS, check_argument_count
from headrace.pipeline.translation.refusal import Refusal, Refused, wrong

_KNOWN_FORMS = frozenset(
    {
        *FORMS,
        *(exp.Lambda, exp.Kwarg, exp.IgnoreNulls, exp.Aliases, exp.GroupingSets, exp.Rollup),
        *(exp.Cube, exp.WithinGroup, exp.NullSafeNEQ, exp.ILike, exp.Lateral, exp.Any, exp.All),
        *(exp.Collate, exp.AtTimeZone, exp.WindowSpec),
    }
)


class UsedExpression(msgspec.Struct, frozen=True, kw_only=True):
    """One expression of a query: its clause, and the columns that it uses."""

    kind: ExpressionKind
    node: exp.Expr
    sources: Sources


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The columns and rows that a query returns."""

    fields: tuple[Field, ...]
    is_open: bool
    rows: Sources
    """The columns that decide which rows there are."""

    @property
    def all_sources(self) -> Sources:
        """Return all columns that it is computed from."""
        return NOTHING.union(self.rows, *(field.sources for field in self.fields))


class ExpressionResolver(ABC):
    """Resolves expressions; queries inside them are left to `query`."""

    def __init__(self, functions: Catalog) -> None:
        """Take the functions of the project."""
        self._functions = functions
        self._windows: dict[str, exp.Expr] = {}
        """The named windows of the current query."""
        self._mistakes: list[Refusal] = []
        self._misuses: list[Refusal] = []
        self.used: list[UsedExpression] = []
        self.touched: set[str] = set()
        """Every source column that is mentioned."""

    @abstractmethod
    def query(self, node: exp.Expr, outer: NameScope | None) -> Result:
        """Resolve a query that may refer to columns of the enclosing one."""

    @property
    def mistakes(self) -> list[Refusal]:
        """Return everything that is wrong on every runner, in text order."""
        return sorted([*self._mistakes, *self._misuses], key=_place)

    @property
    def misuses(self) -> list[Refusal]:
        """Return calls and operators with arguments that they do not take, in text order."""
        return sorted(self._misuses, key=_place)

    def _use(self, kind: ExpressionKind, node: exp.Expr, scope: NameScope) -> Sources:
        sources = self._sources(node, scope)
        self.used.append(UsedExpression(kind=kind, node=node, sources=sources))
        return sources

    def _unjudged_sources(self, node: exp.Expr, scope: NameScope | None) -> Sources:
        """Return the columns that an expression uses, without reporting mistakes."""
        return self._sources(node, scope or NameScope(), is_judged=False)

    def _sources(self, node: exp.Expr, scope: NameScope, *, is_judged: bool = True) -> Sources:
        """Return the columns that an expression uses."""
        match node:
            case exp.Column():
                return self._column(node, scope, is_judged=is_judged)
            case exp.Query():
                return self.query(node, scope).all_sources
            case exp.Star():
                if (
                    isinstance(node.parent, exp.Anonymous)
                    and node.parent.name.casefold() == "count"
                ):
                    return NOTHING
                sources = NOTHING.union(*(field.sources for field in scope.fields()))
                self.touched |= sources
                return sources
            case exp.Hint() | exp.DataType():
                return NOTHING
            case exp.Window() if node.args.get("alias") is not None and node.args.get("over"):
                return self._named_window(node, scope, is_judged=is_judged)
        if is_judged:
            self._check(node, scope)
        is_judged = is_judged and type(node) in _KNOWN_FORMS
        parts = _parts(node)
        return NOTHING.union(*(self._sources(part, scope, is_judged=is_judged) for part in parts))

    def _column(self, node: exp.Column, scope: NameScope, *, is_judged: bool) -> Sources:
        if isinstance(node.this, exp.Star):
            sources = NOTHING.union(*(f.sources for f in scope.fields()))
            self.touched |= sources
            return sources
        try:
            field = scope.find(node)
        except Refused as refused:
            if is_judged:
                self._mistakes.append(refused.refusal)
            return NOTHING
        self.touched |= field.sources
        return field.sources

    def _named_window(self, node: exp.Window, scope: NameScope, *, is_judged: bool) -> Sources:
        name = node.args["alias"].name.casefold()
        named = self._windows.get(name)
        sources = self._sources(node.this, scope, is_judged=is_judged)
        if named is None:
            known = list(self._windows)
            if is_judged:
                reason = listed(f"there is no window {name}", known)
                mistake = wrong(node, reason, nearest_name(name, known))
                self._mistakes.append(mistake.refusal)
            return sources
        for key in ("partition_by", "order"):
            clause = named.args.get(key)
            for part in clause if isinstance(clause, list) else [clause]:
                sources |= NOTHING if part is None else self._sources(part, scope)
        return sources

    def _check(self, node: exp.Expr, scope: NameScope) -> None:
        """Check that a call or operator has arguments that it takes."""
        try:
            match node:
                case exp.Anonymous():
                    kinds = [self._type(argument, scope) for argument in node.expressions]
                    check_call(node, kinds, functions=self._functions)
                case exp.Binary():
                    sides = (self._type(part, scope) for part in (node.this, node.expression))
                    check_operator(node, *sides)
                case exp.Dot():
                    self._member(node, scope)
                case _:
                    check_argument_count(node)
        except Refused as refused:
            self._misuses.append(refused.refusal)

    def _type(self, node: exp.Expr, scope: NameScope) -> pa.DataType | None:
        """Return the type of an expression, if names alone determine it."""
        match node:
            case exp.Column() if not isinstance(node.this, exp.Star):
                try:
                    return scope.find(node).type
                except Refused:
                    return None
            case exp.Paren() | exp.Alias():
                return self._type(node.this, scope)
            case exp.Cast() | exp.TryCast():
                try:
                    return arrow_type(node.to)
                except ValueError:
                    return None
            case exp.Dot():
                try:
                    return self._member(node, scope)
                except Refused:
                    return None
            case exp.Bracket() if len(node.expressions) == 1:
                inner = self._type(node.this, scope)
                if inner is not None and pa.types.is_list(inner):
                    return inner.value_type
                return inner.item_type if inner is not None and pa.types.is_map(inner) else None
            case _:
                return None

    def _member(self, node: exp.Dot, scope: NameScope) -> pa.DataType | None:
        """Return the type of a field of a value that is not a plain column.

        Raises:
            Refused: it has no such field.
        """
        inner = self._type(node.this, scope)
        if inner is None or not isinstance(node.expression, exp.Identifier):
            return None
        return inside(Field("", NOTHING, inner), [node.expression.name.casefold()], node).type


def _place(mistake: Refusal) -> int:
    return mistake.start or 0


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the direct children of an expression that are values."""
    is_call = isinstance(node, exp.Anonymous)
    if is_call and node.name.casefold() in TAKES_UNIT and len(node.expressions) == UNIT_CALL:
        yield from node.expressions[1:]
        return
    if isinstance(node, exp.Lambda):
        yield node.this
        return
    yield from node.iter_expressions()
