"""Queries: SELECT, joins, set operations and common table expressions.

Names are resolved here, by Spark's rules, and written out in full: DataFusion's own rules for
names never come into play. Every column of a result has a name.
"""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.pipeline.arrow_ddl import spark_schema, type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import Settings, VariableValue
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.catalogue.collection import common
from headrace.pipeline.translation.closed_syntax import check_syntax
from headrace.pipeline.translation.expression import Clock, Compiled, Expressions
from headrace.pipeline.translation.kernel import kernels_in
from headrace.pipeline.translation.operator import compare, ordered
from headrace.pipeline.translation.refusal import Blame, Refusal, Refused, unsupported, wrong
from headrace.pipeline.translation.scope import Output, Scope, ScopeColumn, columns_of
from headrace.pipeline.translation.syntax import parse_calls
from headrace.pipeline.translation.typed import Typed, identifier, sql_cast

_JOINS = {
    ("", ""): "INNER JOIN", ("", "INNER"): "INNER JOIN", ("", "CROSS"): "CROSS JOIN",
    ("LEFT", ""): "LEFT JOIN", ("LEFT", "OUTER"): "LEFT JOIN",
    ("RIGHT", ""): "RIGHT JOIN", ("RIGHT", "OUTER"): "RIGHT JOIN",
    ("FULL", ""): "FULL JOIN", ("FULL", "OUTER"): "FULL JOIN",
    ("LEFT", "SEMI"): "LEFT SEMI JOIN", ("", "SEMI"): "LEFT SEMI JOIN",
    ("LEFT", "ANTI"): "LEFT ANTI JOIN", ("", "ANTI"): "LEFT ANTI JOIN",
}  # fmt: skip


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """A query for DataFusion that has Spark's meaning."""

    sql: str
    schema: pa.Schema
    """The columns of the result: folded names, and the types that Spark gives them."""
    kernels: frozenset[str]


def translate_query(  # noqa: PLR0913
    sql: str,
    *,
    schemas: Mapping[str, pa.Schema],
    functions: Catalog,
    variables: Mapping[str, VariableValue],
    settings: Settings,
    clock: Clock = Clock.RUNNING,
) -> Translation:
    """Translate a query of Spark SQL.

    Args:
        sql: The query.
        schemas: By relation that it reads, in lower case, its columns.
        functions: The functions of the project.
        variables: The values of its variables.
        settings: The settings that change what it means.
        clock: What stands for the time of the run.

    Raises:
        Refused: the query is wrong, or the catalogue lacks something that it uses.
    """
    casts = Casts(ansi=settings.ansi, time_zone=settings.time_zone)
    compiler = _Queries(sql, schemas)
    compiler.expressions = Expressions(
        sql,
        casts=casts,
        functions=functions,
        variables=variables,
        clock=clock,
        subqueries=compiler,
    )
    try:
        tree = parse_calls(sql)
    except SqlglotError as error:
        reason = str(error).partition("\n")[0]
        refusal = Refusal(reason=reason, expression="the query", blame=Blame.ENGINE, start=0)
        raise Refused(refusal) from error
    check_syntax(tree)
    compiled = compiler.query(tree, None)
    fields = [
        pa.field(column.name.casefold(), column.type, nullable=column.nullable)
        for column in compiled.columns
    ]
    return Translation(
        sql=compiled.text, schema=pa.schema(fields), kernels=kernels_in(compiled.text)
    )


class _Queries:
    """Compiles one query and those inside it."""

    expressions: Expressions

    def __init__(self, sql: str, schemas: Mapping[str, pa.Schema]) -> None:
        self.sql = sql
        self.tables = {
            name: tuple(
                Output(field.name, field.type, field.nullable) for field in spark_schema(schema)
            )
            for name, schema in schemas.items()
        }
        self.ctes: list[dict[str, tuple[str, tuple[Output, ...]]]] = []
        self.count = 0

    def query(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        """Compile a query that may name columns of the one around it."""
        clause = node.args.get("with_")
        if clause is None:
            return self._body(node, scope)
        self.ctes.append({})
        texts = []
        try:
            for cte in clause.expressions:
                inner = self.query(cte.this, None)
                outputs = _renamed(inner.columns, cte.args.get("alias"), cte)
                self.count += 1
                name = f"{cte.alias.casefold()}__{self.count}"
                columns = ", ".join(identifier(o.name.casefold()) for o in outputs)
                texts.append(f"{identifier(name)} ({columns}) AS ({inner.text})")
                self.ctes[-1][cte.alias.casefold()] = (name, outputs)
            body = self._body(node, scope)
        finally:
            self.ctes.pop()
        text = f"WITH {', '.join(texts)} {body.text}"
        return msgspec.structs.replace(body, text=text)

    def _body(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.Subquery() if not node.alias:
                return self._wrapped(node, self.query(node.this, scope))
            case exp.SetOperation():
                return self._set_operation(node, scope)
            case exp.Values():
                return self._values(node)
            case _:
                raise unsupported(node, "the catalogue has no such query")

    def _wrapped(self, node: exp.Expr, inner: Compiled) -> Compiled:
        """A query in brackets, which may have an order and a limit of its own."""
        if not any(node.args.get(key) for key in ("order", "limit", "offset")):
            return inner
        return self._tail(node, f"SELECT * FROM ({inner.text}) AS q", inner, None)

    def _set_operation(self, node: exp.SetOperation, scope: Scope | None) -> Compiled:
        word = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}[type(node)]
        is_all = node.args.get("distinct") is False
        if node.args.get("by_name") or (is_all and word != "UNION"):
            raise unsupported(node, f"{word} of this form")
        left, right = self.query(node.left, scope), self.query(node.right, scope)
        if len(left.columns) != len(right.columns):
            reason = f"the sides have {len(left.columns)} and {len(right.columns)} columns"
            raise wrong(node, reason)
        kinds = []
        for a, b in zip(left.columns, right.columns, strict=True):
            kind = t.common_type(a.type, b.type)
            if kind is None or kind == t.VOID or not (is_all or t.is_orderable(kind)):
                reason = f"column {a.name} is {type_text(a.type)} and {type_text(b.type)}"
                raise unsupported(node, reason)
            kinds.append(kind)
        sides = [self._side(side, kinds, is_all=is_all, node=node) for side in (left, right)]
        outputs = tuple(
            Output(a.name, kind, a.nullable or b.nullable)
            for a, b, kind in zip(left.columns, right.columns, kinds, strict=True)
        )
        names = ", ".join(identifier(o.name.casefold()) for o in outputs)
        inner = f"({sides[0]}) {word}{' ALL' if is_all else ''} ({sides[1]})"
        both = Compiled(f"SELECT {names} FROM ({inner}) AS q({names})", outputs)
        correlated = left.is_correlated or right.is_correlated
        result = self._tail(node, both.text, both, None)
        return msgspec.structs.replace(result, is_correlated=correlated)

    def _side(
        self, side: Compiled, kinds: Sequence[pa.DataType], *, is_all: bool, node: exp.Expr
    ) -> str:
        shown = []
        for place, (column, kind) in enumerate(zip(side.columns, kinds, strict=True)):
            value = self.expressions.casts.widen(Typed(f"q.c{place}", column.type), kind)
            if value is None:
                raise unsupported(node, f"column {column.name} as {type_text(kind)}")
            plain = value if is_all else ordered(value)
            shown.append(f"{plain.text} AS c{place}")
        names = ", ".join(f"c{place}" for place in range(len(kinds)))
        return f"SELECT {', '.join(shown)} FROM ({side.text}) AS q({names})"

    def _values(self, node: exp.Values) -> Compiled:
        rows = [
            row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions
        ]
        nothing = Scope([])
        cells = [[self.expressions.value(cell, nothing) for cell in row] for row in rows]
        if len({len(row) for row in cells}) != 1:
            raise wrong(node, "the rows have different numbers of columns")
        columns = []
        for column in zip(*cells, strict=True):
            cast = common(self.expressions.casts, column)
            if cast is None or cast[0].type == t.VOID:
                raise unsupported(node, "the rows have no types in common")
            columns.append(cast)
        outputs = tuple(Output(f"col{n}", c[0].type) for n, c in enumerate(columns, 1))
        names = ", ".join(output.name for output in outputs)
        lines = []
        for row in zip(*columns, strict=True):
            named = (f"{c.text} AS {o.name}" for c, o in zip(row, outputs, strict=True))
            lines.append(f"SELECT {', '.join(named)}")
        text = f"SELECT {names} FROM ({' UNION ALL '.join(lines)}) AS q({names})"
        return Compiled(text, outputs)

    # --- FROM -----------------------------------------------------------------------------

    def _relation(self, node: exp.Expr) -> tuple[str, list[ScopeColumn]]:
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                text, outputs, name = self._table(node)
            case exp.Subquery():
                inner = self._wrapped(node, self.query(node.this, None))
                text, outputs = f"({inner.text})", inner.columns
                self.count += 1
                name = node.alias or f"q{self.count}"
            case exp.Values():
                inner = self._values(node)
                text, outputs, name = f"({inner.text})", inner.columns, node.alias or "values"
            case _:
                raise unsupported(node, "the catalogue has only tables and queries in FROM")
        alias = node.args.get("alias")
        named = _renamed(outputs, alias, node)
        qualifier = (node.alias or name).casefold()
        columns = ", ".join(identifier(output.name.casefold()) for output in named)
        listed = f" ({columns})" if alias is not None and alias.columns else ""
        if isinstance(node, exp.Values | exp.Subquery):
            listed = f" ({columns})"
        self._check_distinct(named, node)
        return f"{text} AS {identifier(qualifier)}{listed}", columns_of(qualifier, named)

    def _table(self, node: exp.Table) -> tuple[str, tuple[Output, ...], str]:
        name = ".".join(part.name for part in node.parts).casefold()
        for known in reversed(self.ctes):
            if name in known:
                real, outputs = known[name]
                return identifier(real), outputs, name
        if name not in self.tables:
            raise unsupported(node, "the columns of this table are not known")
        return identifier(name), self.tables[name], name.rpartition(".")[2]

    def _check_distinct(self, outputs: Sequence[Output], node: exp.Expr) -> None:
        names = [output.name.casefold() for output in outputs]
        for name in names:
            if names.count(name) > 1:
                raise unsupported(node, f"two columns are called {name}")

    def _from(self, node: exp.Select, parent: Scope | None) -> tuple[str, Scope]:
        source = node.args.get("from_")
        if source is None:
            return "", Scope([], parent)
        text, columns = self._relation(source.this)
        scope = Scope(columns, parent)
        for inner in source.this.args.get("joins") or ():
            text = self._join(text, scope, inner)
        for join in node.args.get("joins") or ():
            text = self._join(text, scope, join)
        return f" FROM {text}", scope

    def _join(self, left: str, scope: Scope, join: exp.Join) -> str:
        side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
        if join.args.get("method") or (side, kind) not in _JOINS:
            raise unsupported(join, "the catalogue has no such join")
        word = _JOINS[side, kind]
        right, columns = self._relation(join.this)
        taken = {column.qualifier for column in scope.columns}
        if any(column.qualifier in taken for column in columns):
            raise unsupported(join, "two relations have the same name")
        both = Scope([*scope.columns, *columns], scope.parent)
        condition = join.args.get("on")
        using = [part.name.casefold() for part in join.args.get("using") or ()]
        if using:
            on = self._using(scope, columns, using, word, join)
            return f"{left} {word} {right} ON {on}"
        on = "TRUE" if condition is None else self.expressions.boolean(condition, both).text
        if "SEMI" not in word and "ANTI" not in word:
            scope.columns = both.columns
        if condition is None and word == "INNER JOIN":
            return f"{left} CROSS JOIN {right}"
        return (
            f"{left} {word} {right}" if word == "CROSS JOIN" else f"{left} {word} {right} ON {on}"
        )

    def _using(
        self,
        scope: Scope,
        columns: list[ScopeColumn],
        using: Sequence[str],
        word: str,
        join: exp.Join,
    ) -> str:
        """Join by columns of the same name; each of them is one column afterwards."""
        merged, conditions = [], []
        for name in using:
            sides = [
                [c for c in some if c.name == name and not c.is_hidden]
                for some in (scope.columns, columns)
            ]
            if any(len(side) != 1 for side in sides):
                raise wrong(join, f"not both sides have one column {name}")
            left, right = (side[0].value for side in sides)
            equal = compare(self.expressions.casts, "=", left, right)
            if equal is None or left.type != right.type:
                raise unsupported(join, f"{name} has different types")
            conditions.append(equal.text)
            value = right if word == "RIGHT JOIN" else left
            if word == "FULL JOIN":
                value = Typed(f"coalesce({left.text}, {right.text})", left.type)
            merged.append(ScopeColumn("", name, value))
        if "SEMI" not in word and "ANTI" not in word:
            rest = [
                msgspec.structs.replace(c, is_hidden=True) if c.name in using else c
                for c in (*scope.columns, *columns)
            ]
            scope.columns = [*merged, *rest]
        return " AND ".join(conditions)

    # --- SELECT ---------------------------------------------------------------------------

    def _select(self, node: exp.Select, parent: Scope | None) -> Compiled:
        text, scope = self._from(node, parent)
        before = self.expressions.windows
        self.expressions.windows = {
            window.name.casefold(): window for window in node.args.get("windows") or ()
        }
        try:
            return self._selected(node, text, scope)
        finally:
            self.expressions.windows = before

    def _selected(self, node: exp.Select, source: str, scope: Scope) -> Compiled:
        where = node.args.get("where")
        condition = ""
        if where is not None:
            condition = f" WHERE {self.expressions.boolean(where.this, scope).text}"
        grouping = self._group(node, scope)
        items = self._items(node, scope)
        outputs = tuple(Output(n, v.type, v.nullable) for n, v in items)
        self._check_distinct(outputs, node)
        is_distinct = node.args.get("distinct") is not None
        shown = []
        for name, value in items:
            plain = value
            if is_distinct:
                if not t.is_orderable(value.type):
                    raise unsupported(node, f"DISTINCT of {type_text(value.type)}")
                plain = ordered(value)
            shown.append(f"{plain.text} AS {identifier(name.casefold())}")
        having = self._having(node, scope)
        word = "SELECT DISTINCT " if is_distinct else "SELECT "
        text = f"{word}{', '.join(shown)}{source}{condition}{grouping}{having}"
        aggregates = _has_aggregate(node)
        one_row = aggregates and node.args.get("group") is None and not having
        compiled = Compiled(text, outputs, gives_one_row=one_row)
        result = self._tail(node, text, compiled, scope if not is_distinct else None, items)
        return msgspec.structs.replace(result, is_correlated=scope.is_correlated)

    def _items(self, node: exp.Select, scope: Scope) -> list[tuple[str, Typed]]:
        items: list[tuple[str, Typed]] = []
        for column in node.expressions:
            star = _star(column)
            if star is not None:
                items += self._star(star, column, scope)
                continue
            name = output_name(column)
            value = self.expressions.value(column.unalias(), scope)
            items.append((name, value))
            if isinstance(column, exp.Alias):
                scope.aliases.setdefault(name.casefold(), value)
        if not items:
            raise wrong(node, "it selects nothing")
        return items

    def _star(self, star: exp.Star, column: exp.Expr, scope: Scope) -> list[tuple[str, Typed]]:
        table = column.table.casefold() if isinstance(column, exp.Column) else ""
        left_out = {part.name.casefold() for part in star.args.get("except_") or ()}
        kept = [
            (c.name, scope.groups.get(c.value.text, c.value))
            for c in scope.columns
            if (c.qualifier == table if table else not c.is_hidden)
        ]
        if not kept:
            raise unsupported(column, "there are no columns for it")
        return [(name, value) for name, value in kept if name not in left_out]

    def _group(self, node: exp.Select, scope: Scope) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        if group.args.get("all"):
            keys = [c.unalias() for c in node.expressions if not _has_aggregate_in(c)]
            if any(_star(c) is not None for c in node.expressions):
                raise unsupported(node, "GROUP BY ALL with a star")
        else:
            keys = list(group.expressions)
        texts = []
        for key in keys:
            value = self._group_key(key, node, scope)
            if not t.is_orderable(value.type):
                raise unsupported(key, f"GROUP BY {type_text(value.type)}")
            plain = ordered(value)
            if plain.text != value.text:
                scope.groups[value.text] = plain
            texts.append(plain.text)
        return f" GROUP BY {', '.join(texts)}" if texts else ""

    def _group_key(self, key: exp.Expr, node: exp.Select, scope: Scope) -> Typed:
        if isinstance(key, exp.Literal) and not key.is_string:
            place = int(key.name) if key.is_int else 0
            if not 1 <= place <= len(node.expressions):
                raise wrong(key, f"there is no column {key.name} in the SELECT list")
            return self.expressions.value(node.expressions[place - 1].unalias(), scope)
        if isinstance(key, exp.Column) and len(key.parts) == 1:
            try:
                return scope.find(key)
            except Refused:
                name = key.name.casefold()
                for column in node.expressions:
                    if isinstance(column, exp.Alias) and column.alias.casefold() == name:
                        return self.expressions.value(column.this, scope)
                raise
        return self.expressions.value(key, scope)

    def _having(self, node: exp.Select, scope: Scope) -> str:
        text = ""
        for word in ("having", "qualify"):
            clause = node.args.get(word)
            if clause is not None:
                self._refuse_shadowed(clause, scope)
                text += f" {word.upper()} {self.expressions.boolean(clause.this, scope).text}"
        return text

    def _refuse_shadowed(self, clause: exp.Expr, scope: Scope) -> None:
        """A name that is both a column and an alias may mean either."""
        for column in clause.find_all(exp.Column):
            name = column.name.casefold()
            alias = scope.aliases.get(name) if len(column.parts) == 1 else None
            own = [c for c in scope.columns if c.name == name]
            if alias is not None and own and all(c.value.text != alias.text for c in own):
                raise unsupported(column, "the name is both that of a column and an alias")

    def _tail(
        self,
        node: exp.Expr,
        text: str,
        compiled: Compiled,
        scope: Scope | None,
        items: Sequence[tuple[str, Typed]] = (),
    ) -> Compiled:
        """ORDER BY, LIMIT and OFFSET."""
        order = node.args.get("order")
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is None and offset is None:
            for key in ("sort", "distribute", "cluster"):
                node.args.pop(key, None)  # where rows lie does not change them
        elif any(node.args.get(key) for key in ("sort", "distribute", "cluster")):
            raise unsupported(node, "SORT BY with LIMIT")
        if order is not None:
            text += f" ORDER BY {self._order(order, compiled, scope, items)}"
        for word, clause in (("LIMIT", limit), ("OFFSET", offset)):
            if clause is not None:
                count = clause.expression
                if not isinstance(count, exp.Literal) or not count.is_int:
                    raise unsupported(clause, f"{word} takes a literal")
                text += f" {word} {count.name}"
        gives_one = compiled.gives_one_row and limit is None and offset is None
        return Compiled(text, compiled.columns, compiled.is_correlated, gives_one)

    def _order(
        self,
        order: exp.Expr,
        compiled: Compiled,
        scope: Scope | None,
        items: Sequence[tuple[str, Typed]],
    ) -> str:
        named = {
            output.name.casefold(): Typed(identifier(output.name.casefold()), output.type)
            for output in compiled.columns
        }
        if scope is None:  # only the columns of the result can be named
            inner = Scope([ScopeColumn("", name, value) for name, value in named.items()])
        else:
            aliases = {**scope.aliases, **{n.casefold(): v for n, v in items}}
            inner = Scope(scope.columns, scope.parent, aliases, True, scope.groups)
        shown = {value.text: identifier(name.casefold()) for name, value in reversed(items)}
        keys = []
        for key in order.expressions:
            plain = key.this if isinstance(key, exp.Ordered) else key
            if isinstance(plain, exp.Literal) and plain.is_int:
                place = int(plain.name)
                if not 1 <= place <= len(compiled.columns):
                    raise wrong(plain, f"there is no column {place} in the SELECT list")
                by_place = Scope([ScopeColumn("", n, v) for n, v in named.items()])
                name = compiled.columns[place - 1].name
                copy = key.copy()
                target = copy.this if isinstance(copy, exp.Ordered) else copy
                target.replace(exp.column(name, quoted=True))
                keys.append(self.expressions.sort_key(copy, by_place))
                continue
            keys.append(self.expressions.sort_key(key, inner, lambda v: shown.get(v.text, v.text)))
        return ", ".join(keys)


def output_name(column: exp.Expr) -> str:
    """The name that the author gives a column, or the one that Spark makes up."""
    is_count = isinstance(column, exp.Anonymous) and column.name.casefold() == "count"
    if is_count and [type(part) for part in column.expressions] == [exp.Star]:
        return "count(1)"
    return column.output_name or column.sql(dialect="spark").casefold()


def _renamed(
    outputs: Sequence[Output], alias: exp.Expr | None, node: exp.Expr
) -> tuple[Output, ...]:
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return tuple(outputs)
    if len(names) != len(outputs):
        raise wrong(node, f"{len(names)} names for {len(outputs)} columns")
    return tuple(
        msgspec.structs.replace(output, name=name)
        for output, name in zip(outputs, names, strict=True)
    )


def _star(column: exp.Expr) -> exp.Star | None:
    if isinstance(column, exp.Star):
        return column
    is_qualified = isinstance(column, exp.Column) and isinstance(column.this, exp.Star)
    return column.this if is_qualified else None


def _has_aggregate(node: exp.Select) -> bool:
    return any(_has_aggregate_in(column) for column in node.expressions)


def _has_aggregate_in(column: exp.Expr) -> bool:
    """Whether an expression aggregates, other than over a window or in a query of its own."""
    waiting = [column]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query | exp.Window):
            continue
        if isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATES:
            return True
        waiting += node.iter_expressions()
    return False


__all__ = ["Translation", "sql_cast", "translate_query"]
