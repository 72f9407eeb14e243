"""Resolves the names of a query from its text: the sources of its columns, and its mistakes.

It needs no plan, so it also works for views that DataFusion cannot plan.
"""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.pipeline.analysis.expression_resolver import Result
from headrace.pipeline.analysis.lineage import ExpressionKind
from headrace.pipeline.analysis.name_scope import (
    NOTHING,
    Field,
    NamedRelation,
    NameScope,
    Sources,
    inside,
    listed,
    nearest_name,
)
from headrace.pipeline.analysis.query import Query
from headrace.pipeline.analysis.relation_resolver import RelationResolver
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.grouping import star_of
from headrace.pipeline.translation.refusal import wrong
from headrace.pipeline.translation.syntax import parse_calls

_GENERATORS = frozenset(
    {
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline"),
        *("inline_outer", "stack", "json_tuple", "variant_explode", "variant_explode_outer"),
    }
)


class Resolver(RelationResolver):
    """Resolves one query, once."""

    def __init__(
        self,
        tree: exp.Expr,
        *,
        schemas: Mapping[str, pa.Schema | None],
        columns: Mapping[str, Sequence[str]],
        functions: Catalog,
    ) -> None:
        """Resolve a query; the arguments are those of `resolve`."""
        super().__init__(schemas=schemas, columns=columns, functions=functions)
        self.tree = tree
        self.result = self.query(tree, None)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Return the names of the result's columns; empty if not all are known."""
        return () if self.result.is_open else tuple(field.name for field in self.result.fields)

    def query(self, node: exp.Expr, outer: NameScope | None) -> Result:
        """Resolve a query that may refer to columns of the enclosing one."""
        clause = node.args.get("with_")
        if clause is None:
            return self._body(node, outer)
        self._ctes.append({})
        try:
            for cte in clause.expressions:
                self._ctes[-1][cte.alias.casefold()] = self._cte(cte, recursive=clause.recursive)
            return self._body(node, outer)
        finally:
            self._ctes.pop()

    def _cte(self, cte: exp.CTE, *, recursive: bool) -> Result:
        if recursive and isinstance(cte.this, exp.Union):
            anchor = self.query(cte.this.left, None)
            started = self._renamed(anchor, cte.args.get("alias"), cte)
            self._ctes[-1][cte.alias.casefold()] = started
        return self._renamed(self.query(cte.this, None), cte.args.get("alias"), cte)

    def _body(self, node: exp.Expr, outer: NameScope | None) -> Result:
        match node:
            case exp.Select():
                return self._select(node, outer)
            case exp.Subquery():
                return self._order_by(node, self.query(node.this, outer), None)
            case exp.SetOperation():
                return self._order_by(node, self._set_operation(node, outer), None)
            case exp.Values():
                return self._values(node, outer)
            case exp.Table():
                scope = NameScope(parent=outer)
                self._relation(node, scope)
                return Result(fields=tuple(scope.fields()), is_open=scope.is_open, rows=NOTHING)
            case _:
                return Result(fields=(), is_open=True, rows=self._unjudged_sources(node, outer))

    def _set_operation(self, node: exp.SetOperation, outer: NameScope | None) -> Result:
        left, right = self.query(node.left, outer), self.query(node.right, outer)
        rows = left.rows | right.rows
        if not (isinstance(node, exp.Union) and node.args.get("distinct") is False):
            rows |= left.all_sources | right.all_sources
        if left.is_open or right.is_open or node.args.get("by_name"):
            everything = left.all_sources | right.all_sources
            fields = tuple(Field(field.name, everything) for field in left.fields)
            return Result(fields=fields, is_open=True, rows=rows)
        if len(left.fields) != len(right.fields):
            reason = f"the sides have {len(left.fields)} and {len(right.fields)} columns"
            self._mistakes.append(wrong(node, reason).refusal)
        fields = tuple(
            Field(a.name, a.sources | b.sources, a.type if a.type == b.type else None)
            for a, b in zip(left.fields, right.fields, strict=False)
        )
        return Result(fields=fields, is_open=False, rows=rows)

    def _select(self, node: exp.Select, outer: NameScope | None) -> Result:
        scope, rows = self._from(node, outer)
        before = self._windows
        self._windows = {
            window.name.casefold(): window for window in node.args.get("windows") or ()
        }
        try:
            return self._selected(node, scope, rows)
        finally:
            self._windows = before

    def _selected(self, node: exp.Select, scope: NameScope, rows: Sources) -> Result:
        where = node.args.get("where")
        if where is not None:
            rows |= self._use(ExpressionKind.FILTER, where.this, scope)
        fields, is_open, generated = self._items(node, scope)
        rows |= generated
        group = node.args.get("group")
        if group is not None:
            if group.args.get("all"):
                keys = [f.sources for f in fields]
                rows |= NOTHING.union(*keys)
            for key in group.iter_expressions():
                rows |= self._use(ExpressionKind.GROUP, key, scope)
        for word in ("having", "qualify"):
            clause = node.args.get(word)
            if clause is not None:
                rows |= self._use(ExpressionKind.FILTER, clause.this, scope)
        if node.args.get("distinct") is not None:
            rows |= NOTHING.union(*(field.sources for field in fields))
        result = Result(fields=tuple(fields), is_open=is_open, rows=rows)
        return self._order_by(node, result, scope)

    def _items(self, node: exp.Select, scope: NameScope) -> tuple[list[Field], bool, Sources]:
        fields: list[Field] = []
        is_open, rows = False, NOTHING
        for column in node.expressions:
            star = star_of(column)
            if star is not None:
                starred, more = self._star(star, column, scope)
                fields += starred
                is_open |= more
                continue
            plain = column.this if isinstance(column, exp.Alias | exp.Aliases) else column
            sources = self._use(ExpressionKind.PROJECTION, plain, scope)
            if _generates(plain):
                rows |= sources
            if isinstance(column, exp.Aliases):
                fields += [Field(name.name.casefold(), sources) for name in column.expressions]
                continue
            is_named = isinstance(column, exp.Alias | exp.Column | exp.Dot)
            is_open |= not is_named
            field = Field(column.output_name.casefold(), sources, self._type(plain, scope))
            fields.append(field)
            if isinstance(column, exp.Alias):
                scope.aliases.setdefault(field.name, field)
        return fields, is_open, rows

    def _star(self, star: exp.Star, column: exp.Expr, scope: NameScope) -> tuple[list[Field], bool]:
        qualifier = (
            [p.name.casefold() for p in column.parts[:-1]] if isinstance(column, exp.Column) else []
        )
        fields, is_open = list(scope.fields()), scope.is_open
        if qualifier:
            name = ".".join(qualifier)
            relations = [r for r in scope.relations if name in {r.name, r.base}]
            if relations:
                fields, is_open = list(relations[0].fields), relations[0].is_open
            else:
                fields, is_open = self._struct_star(qualifier, column, scope)
        left_out = []
        for part in star.args.get("except_") or ():
            name = part.name.casefold()
            left_out.append(name)
            if not is_open and name not in {field.name for field in fields}:
                known = [field.name for field in fields]
                reason = listed("there is no such column", known)
                self._mistakes.append(wrong(part, reason, nearest_name(name, known)).refusal)
        remaining = [field for field in fields if field.name not in left_out]
        self.touched |= NOTHING.union(*(field.sources for field in remaining))
        is_plain = not any(v for k, v in star.args.items() if k != "except_")
        return remaining, is_open or not is_plain

    def _struct_star(
        self, qualifier: Sequence[str], column: exp.Expr, scope: NameScope
    ) -> tuple[list[Field], bool]:
        first, *path = qualifier
        for holder in (scope, scope.parent):
            for field in holder.fields() if holder is not None else ():
                if field.name == first:
                    kind = inside(field, path, column).type
                    if kind is None or not pa.types.is_struct(kind):
                        return [Field(first, field.sources)], True
                    return [Field(f.name.casefold(), field.sources, f.type) for f in kind], False
        if scope.is_open or scope.parent is not None:
            return [], True
        known = [relation.name for relation in scope.relations]
        reason = listed(f"there is no relation or column {first}", known)
        self._mistakes.append(wrong(column, reason, nearest_name(first, known)).refusal)
        return [], True

    def _order_by(self, node: exp.Expr, result: Result, scope: NameScope | None) -> Result:
        """Resolve ORDER BY, which affects rows only if there is a limit."""
        order = node.args.get("order")
        if order is None:
            return result
        output = NamedRelation(
            name="", fields=result.fields, is_open=result.is_open, sources=result.all_sources
        )
        inner = NameScope(relations=[output], parent=scope)
        sources = NOTHING
        for key in order.expressions:
            plain = key.this if isinstance(key, exp.Ordered) else key
            if not isinstance(plain, exp.Literal | exp.Var):
                sources |= self._use(ExpressionKind.ORDER, plain, inner)
            elif isinstance(plain, exp.Literal) and plain.is_int and not result.is_open:
                place = int(plain.name)
                if not 1 <= place <= len(result.fields):
                    mistake = wrong(plain, f"there is no column {place} in the SELECT list")
                    self._mistakes.append(mistake.refusal)
                else:
                    sources |= result.fields[place - 1].sources
        is_limited = any(node.args.get(key) for key in ("limit", "offset"))
        rows = result.rows | sources if is_limited else result.rows
        return msgspec.structs.replace(result, rows=rows)


def resolve(
    query: Query,
    *,
    schemas: Mapping[str, pa.Schema | None],
    columns: Mapping[str, Sequence[str]],
    functions: Catalog,
) -> Resolver:
    """Resolve the names of a query.

    Args:
        query: The query.
        schemas: The columns of each relation that it reads; None where they are not known.
        columns: The column names of relations without a schema, where they are known.
        functions: The functions of the project.
    """
    try:
        tree: exp.Expr = parse_calls(query.sql)
    except SqlglotError:  # a form that only the other parser knows: its calls are not checked
        tree = query.tree
    return Resolver(tree, schemas=schemas, columns=columns, functions=functions)


def _generates(node: exp.Expr) -> bool:
    """Return whether an item of the SELECT list generates rows."""
    names = {call.name.casefold() for call in node.find_all(exp.Anonymous)}
    return bool(names & _GENERATORS) or node.find(exp.UDTF) is not None
