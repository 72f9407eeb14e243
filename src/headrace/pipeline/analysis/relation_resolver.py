"""Resolves the relations in FROM: the names of their columns, and what decides their rows.

Columns come from schemas, or from listed names; a relation without either is open.
"""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.analysis.expression_resolver import ExpressionResolver, Result
from headrace.pipeline.analysis.lineage import ExpressionKind
from headrace.pipeline.analysis.name_scope import (
    NOTHING,
    Field,
    NamedRelation,
    NameScope,
    Sources,
    has_variant,
    listed,
    nearest_name,
)
from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.refusal import wrong

_ELEMENTS = frozenset({"explode", "explode_outer"})


class RelationResolver(ExpressionResolver):
    """Resolves the FROM clause."""

    def __init__(
        self,
        *,
        schemas: Mapping[str, pa.Schema | None],
        columns: Mapping[str, Sequence[str]],
        functions: Catalog,
    ) -> None:
        """Take what is known about relations; the arguments are those of `resolve`."""
        super().__init__(functions)
        self._schemas = {name: s and spark_schema(s) for name, s in schemas.items()}
        self._columns = columns
        self._ctes: list[dict[str, Result]] = []

    def _values(self, node: exp.Values, outer: NameScope | None) -> Result:
        scope = NameScope(parent=outer)
        widths = set()
        for row in node.expressions:
            self._sources(row, scope)
            widths.add(len(row.expressions) if isinstance(row, exp.Tuple) else 1)
        fields = tuple(Field(f"col{place}", NOTHING) for place in range(1, max(widths) + 1))
        result = Result(fields=fields, is_open=False, rows=NOTHING)
        return self._renamed(result, node.args.get("alias"), node)

    def _renamed(self, result: Result, alias: exp.Expr | None, node: exp.Expr) -> Result:
        names = (
            [c.name.casefold() for c in alias.columns] if isinstance(alias, exp.TableAlias) else []
        )
        if not names:
            return result
        if result.is_open:
            fields = tuple(Field(name, result.all_sources) for name in names)
        else:
            if len(names) != len(result.fields):
                reason = f"{len(names)} names for {len(result.fields)} columns"
                self._mistakes.append(wrong(node, reason).refusal)
            fields = tuple(
                msgspec.structs.replace(field, name=name)
                for field, name in zip(result.fields, names, strict=False)
            )
        return Result(fields=fields, is_open=False, rows=result.rows)

    def _relation(self, node: exp.Expr, scope: NameScope) -> tuple[NamedRelation, Sources]:
        """Return a relation in FROM, and what decides its rows."""
        alias = node.args.get("alias")
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                name, base, result = self._table(node)
            case exp.Table() | exp.Lateral() if not isinstance(node.this, exp.Subquery):
                name, base, result = "", None, self._generated(node, scope)
            case exp.Lateral():
                name, base, result = "", None, self.query(node.this.this, scope)
                alias = alias or node.this.args.get("alias")
            case exp.Subquery():
                name, base, result = "", None, self.query(node, scope.parent)
            case exp.Values():
                name, base, result, alias = "", None, self._values(node, None), None
            case _:
                sources = self._unjudged_sources(node, scope)
                name, base = "", None
                result = Result(fields=(), is_open=True, rows=sources)
        result = self._renamed(result, alias, node)
        named = (node.alias or (alias.name if alias is not None else "") or name).casefold()
        if node.args.get("pivots"):
            relation = NamedRelation(
                name=named, fields=(), is_open=True, sources=result.all_sources
            )
            self.touched |= result.all_sources
            return relation, result.all_sources
        relation = NamedRelation(
            name=named,
            fields=result.fields,
            base=base if result.is_open or alias is None or not alias.columns else None,
            is_open=result.is_open,
            sources=result.all_sources,
        )
        return relation, result.rows

    def _table(self, node: exp.Table) -> tuple[str, str | None, Result]:
        name = ".".join(part.name for part in node.parts).casefold()
        for known in reversed(self._ctes):
            if name in known:
                return name, None, known[name]
        schema = self._schemas.get(name)
        if schema is not None:
            fields = tuple(
                Field(
                    f.name.casefold(),
                    frozenset({f"{name}.{f.name.casefold()}"}),
                    None if has_variant(f.type) else f.type,
                )
                for f in schema
            )
            result = Result(fields=fields, is_open=False, rows=NOTHING)
        else:
            listed_names = [column.casefold() for column in self._columns.get(name, ())]
            fields = tuple(Field(c, frozenset({f"{name}.{c}"})) for c in listed_names)
            result = Result(fields=fields, is_open=not fields, rows=NOTHING)
        return name.rpartition(".")[2], name, result

    def _generated(self, node: exp.Expr, scope: NameScope) -> Result:
        """Return the rows of a table function or of LATERAL VIEW."""
        call = node.this
        sources = self._sources(call, scope)
        name = call.name.casefold() if isinstance(call, exp.Anonymous) else ""
        if name == "range":
            return Result(fields=(Field("id", NOTHING),), is_open=False, rows=sources)
        kind = None
        if name in _ELEMENTS and len(call.expressions) == 1:
            array = self._type(call.expressions[0], scope)
            kind = array.value_type if array is not None and pa.types.is_list(array) else None
        alias = node.args.get("alias")
        if kind is not None and (alias is None or len(alias.columns) <= 1):
            return Result(fields=(Field("col", sources, kind),), is_open=False, rows=sources)
        return Result(fields=(), is_open=True, rows=sources)

    def _from(self, node: exp.Select, outer: NameScope | None) -> tuple[NameScope, Sources]:
        scope, rows = NameScope(parent=outer), NOTHING
        source = node.args.get("from_")
        if source is not None:
            relation, rows = self._relation(source.this, scope)
            scope.relations.append(relation)
            for join in source.this.args.get("joins") or ():
                rows |= self._join(join, scope)
        for join in node.args.get("joins") or ():
            rows |= self._join(join, scope)
        of_table = [] if source is None else source.this.args.get("laterals") or []
        for lateral in (*of_table, *(node.args.get("laterals") or ())):
            relation, added = self._relation(lateral, scope)
            scope.relations.append(relation)
            rows |= added
        return scope, rows

    def _join(self, join: exp.Join, scope: NameScope) -> Sources:
        relation, rows = self._relation(join.this, scope)
        both = NameScope(
            relations=[*scope.relations, relation], parent=scope.parent, merged=set(scope.merged)
        )
        left_names = {field.name for r in scope.relations for field in r.fields}
        if str(join.args.get("method") or "").upper() == "NATURAL":
            both.merged |= left_names & {field.name for field in relation.fields}
        for column in join.args.get("using") or ():
            name = column.name.casefold()
            both.merged.add(name)
            rows |= self._using(column, name, scope, relation)
        for name in both.merged:
            rows |= NOTHING.union(*(f.sources for r in both.relations for f in r.named(name)))
        self.touched |= rows
        condition = join.args.get("on")
        if condition is not None:
            rows |= self._use(ExpressionKind.JOIN, condition, both)
        kind = str(join.args.get("kind") or "").upper()
        if kind in {"SEMI", "ANTI"}:
            return rows
        scope.relations, scope.merged = both.relations, both.merged
        return rows

    def _using(
        self, column: exp.Expr, name: str, scope: NameScope, relation: NamedRelation
    ) -> Sources:
        sources = NOTHING
        for relations in (scope.relations, [relation]):
            fields = [field for r in relations for field in r.fields]
            if name not in {field.name for field in fields} and not any(
                r.is_open for r in relations
            ):
                known = [field.name for field in fields]
                reason = listed("one side of the join does not have this column", known)
                self._mistakes.append(wrong(column, reason, nearest_name(name, known)).refusal)
            sources |= NOTHING.union(*(f.sources for f in fields if f.name == name))
        return sources
