"""Translates queries: SELECT, joins, set operations and common table expressions.

Names are resolved here, by Spark's rules, and written in full, so DataFusion's own name resolution
never matters. Every column of a result has a name.
"""

from collections.abc import Mapping

import msgspec
import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import Settings, VariableValue
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.closed_syntax import check_syntax
from headrace.pipeline.translation.compiler import Clock, Compiled, Guard, Placement
from headrace.pipeline.translation.expression import Expressions
from headrace.pipeline.translation.interval_type import has_no_column
from headrace.pipeline.translation.kernel import kernels_in
from headrace.pipeline.translation.refusal import Blame, Refusal, Refused, unsupported, wrong
from headrace.pipeline.translation.relation import inline_table, renamed, wrapped
from headrace.pipeline.translation.scope import Output, Scope
from headrace.pipeline.translation.selection import is_named, select
from headrace.pipeline.translation.set_operation import set_operation
from headrace.pipeline.translation.syntax import parse_calls
from headrace.pipeline.translation.typed import identifier
from headrace.pipeline.translation.written_back import check_written_back


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """A DataFusion query with Spark's semantics."""

    sql: str
    schema: pa.Schema
    """The columns of the result: folded names, and Spark's types."""
    kernels: frozenset[str]
    can_raise: bool
    """Whether an expression raises for some values."""
    unnamed: Refusal | None
    """Why the names of the result are not known: Spark generates one for an expression."""
    columns: tuple[Output, ...] = ()
    guard: Guard | None = None
    """How readers that are planned together with this query write it if their conditions may
    raise."""
    names: int = 0
    """How many relation names it uses, which the names of its readers must differ from."""


def translate_query(  # noqa: PLR0913
    sql: str,
    *,
    schemas: Mapping[str, pa.Schema],
    functions: Catalog,
    variables: Mapping[str, VariableValue],
    settings: Settings,
    clock: Clock = Clock.RUNNING,
    placement: Placement = Placement.FREE,
    inlined: Mapping[str, Translation] | None = None,
) -> Translation:
    """Translate a Spark SQL query.

    Args:
        sql: The query.
        schemas: The columns of each relation that it reads, by name in lower case.
        functions: The functions of the project.
        variables: The values of its variables.
        settings: The settings that change its meaning.
        clock: How the time of the run is written.
        placement: Where DataFusion may compute columns that can raise.
        inlined: The translations of relations that are planned as part of the query.

    Raises:
        Refused: the query is wrong, or the catalogue lacks something that it uses.
    """
    casts = Casts(ansi=settings.ansi, time_zone=settings.time_zone)
    compiler = _Queries(sql, schemas)
    for name, view in (inlined or {}).items():
        compiler.inline(name, view)
    compiler.expressions = Expressions(
        sql,
        casts=casts,
        functions=functions,
        variables=variables,
        clock=clock,
        placement=placement,
        subqueries=compiler,
    )
    try:
        tree = parse_calls(sql)
    except SqlglotError as error:
        reason = str(error).partition("\n")[0]
        refusal = Refusal(reason=reason, expression="the query", blame=Blame.RUNNER, start=0)
        raise Refused(refusal) from error
    check_syntax(tree)
    _check_names(tree, sql)
    check_written_back(tree, sql)
    compiled = compiler.query(tree, None)
    for column in compiled.columns:
        if has_no_column(column.type):
            reason = f"the column {column.name} is {column.type}, which Delta cannot store"
            raise unsupported(tree, reason)
    fields = [
        pa.field(column.name.casefold(), column.type, nullable=column.nullable)
        for column in compiled.columns
    ]
    return Translation(
        sql=compiled.text,
        schema=pa.schema(fields),
        kernels=kernels_in(compiled.text),
        can_raise=compiler.expressions.fallible > 0,
        unnamed=None if all(o.is_named for o in compiled.columns) else _unnamed(tree),
        columns=compiled.columns,
        guard=compiled.guard,
        names=compiler.names,
    )


def _unnamed(tree: exp.Expr) -> Refusal:
    columns = (column for query in tree.find_all(exp.Select) for column in query.expressions)
    column = next((column for column in columns if not is_named(column)), tree)
    reason = "the column has no name, and Spark generates one: add AS and a name"
    return unsupported(column, reason).refusal


def _check_names(tree: exp.Expr, sql: str) -> None:
    """Reject strings as names, which the parser accepts and Spark does not."""
    for name in tree.find_all(exp.Identifier):
        start = name.meta.get("start")
        if start is not None and sql[start : start + 1] in {"'", '"'}:
            raise wrong(name, "a string is not a name; use backticks")
        if not name.name.isascii():
            if not name.args.get("quoted"):
                raise wrong(name, "a name with letters beyond ASCII needs backticks")
            if name.name.casefold() != name.name.lower():
                reason = "the catalogue has no names with letters that have two small forms"
                raise unsupported(name, reason)


def _after_text(text: str, guard: Guard) -> Guard:
    return lambda used: text + guard(used)


class _Queries:
    """Compiles one query and those inside it."""

    expressions: Expressions

    def __init__(self, sql: str, schemas: Mapping[str, pa.Schema]) -> None:
        self.sql = sql
        self.tables: Mapping[str, tuple[Output, ...]] = {
            name: tuple(
                Output(field.name, field.type, field.nullable) for field in spark_schema(schema)
            )
            for name, schema in schemas.items()
        }
        self.ctes: list[dict[str, tuple[str, tuple[Output, ...]]]] = []
        self.fallible_queries: set[str] = set()
        self.guards: dict[str, Guard] = {}
        self.names = 0

    def inline(self, name: str, view: Translation) -> None:
        """Treat a relation as the query that it is planned as."""
        columns = tuple(
            msgspec.structs.replace(column, name=known.name, nullable=known.nullable)
            for column, known in zip(view.columns, self.tables[name], strict=True)
        )
        self.tables = {**self.tables, name: columns}
        if view.can_raise:
            self.fallible_queries.add(name)
        if view.guard is not None:
            self.guards[identifier(name)] = view.guard
            self.names = max(self.names, view.names)

    def new_name(self) -> str:
        """Return a relation name that no author can write: authors' names are in lower case."""
        self.names += 1
        return f"Q{self.names}"

    def query(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        """Compile a query that may refer to columns of the enclosing one."""
        clause = node.args.get("with_")
        if clause is None:
            return self._body(node, scope)
        self.ctes.append({})
        texts = []
        try:
            for cte in clause.expressions:
                before = self.expressions.fallible
                inner = self.query(cte.this, None)
                outputs = renamed(inner.columns, cte.args.get("alias"), cte)
                name = self.new_name()
                if self.expressions.fallible > before:
                    self.fallible_queries.add(name)
                columns = ", ".join(identifier(o.name.casefold()) for o in outputs)
                texts.append(f"{identifier(name)} ({columns}) AS ({inner.text})")
                if inner.guard is not None:
                    self.guards[identifier(name)] = inner.guard
                if cte.alias.casefold() in self.ctes[-1]:
                    raise wrong(cte, "two common table expressions have the same name")
                self.ctes[-1][cte.alias.casefold()] = (name, outputs)
            body = self._body(node, scope)
        finally:
            self.ctes.pop()
        before_body = f"WITH {', '.join(texts)} "
        guard = None if body.guard is None else _after_text(before_body, body.guard)
        return msgspec.structs.replace(body, text=before_body + body.text, guard=guard)

    def _body(self, node: exp.Expr, scope: Scope | None) -> Compiled:
        match node:
            case exp.Select():
                return select(self, node, scope)
            case exp.Subquery() if not node.alias:
                return wrapped(self, node, self.query(node.this, scope))
            case exp.SetOperation():
                return set_operation(self, node, scope)
            case exp.Values():
                return inline_table(self, node)
            case _:
                raise unsupported(node, "the catalogue has no such query")
