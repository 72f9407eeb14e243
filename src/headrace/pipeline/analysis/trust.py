"""Decides whether a filter that DataFusion derived may prune files for Spark.

DataFusion plans a translation and folds what it can: `CAST(id AS STRING) = '5'` becomes `id = 5`, a
formatted date becomes a date. The runners agree on plain literals, on their sums, and on dates and
intervals. They may differ on casts of columns and on functions, and then a pruned file might be
needed. So a column that a condition sees through a cast, a function or an operator is never used
for pruning, and a constant that is more than a literal stops pruning.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from sqlglot import exp

from headrace.pipeline.analysis.volatile import is_clock
from headrace.pipeline.translation.closed_syntax import reads_differently
from headrace.pipeline.translation.generator import GENERATORS

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_Kind = exp.DataType.Type
_NUMBERS = frozenset(
    {_Kind.TINYINT, _Kind.SMALLINT, _Kind.INT, _Kind.BIGINT, _Kind.DECIMAL, _Kind.DOUBLE}
)
_TIMES = frozenset({_Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.TIMESTAMPNTZ, _Kind.TIMESTAMPLTZ})
_PREDICATES = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.In, exp.Between, exp.Like, exp.Is),
)
_TRANSPARENT = (*_PREDICATES, exp.Connector, exp.Not, exp.Paren, exp.Tuple, exp.Alias)
"""Nodes between a condition and its columns that compute nothing from them."""
_VARYING = (exp.Column, exp.Star, exp.Query, exp.AggFunc, exp.Window, exp.UDTF)
"""Nodes that make an expression vary by row or by group."""
_SAME_IN_BOTH = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Interval, exp.Neg, exp.Paren, exp.Add, exp.Sub),
    *(exp.Mul, exp.And, exp.Or, exp.Not, exp.Var, exp.Identifier, exp.Tuple, *_PREDICATES),
)


_GENERATORS = frozenset({*GENERATORS, "range"})


class QueryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that decide whether the filters of a query are trusted, gathered in one walk.

    A view that is planned as part of its readers is walked once, not once per reader.
    """

    aliases: Mapping[str, tuple[exp.Expr, ...]]
    """The expressions that each alias names, by name in lower case."""
    conditions: tuple[exp.Expr, ...]
    """Everything that rows are selected by, in any clause."""
    columns_by_position: tuple[exp.Expr, ...]
    """Selected columns that may be named somewhere else."""
    untrusted_constant: str | None
    """A constant expression that the runners might evaluate differently, as text."""
    reads_clock: bool
    """Whether it reads the time of the run."""
    has_generator: bool
    """Whether it makes rows from arrays, which Substrait cannot express."""


def gather_facts(tree: exp.Query) -> QueryFacts:
    """Gather the facts of one query."""
    nodes = tuple(tree.walk())  # parents first
    aliases: dict[str, list[exp.Expr]] = {}
    for node in nodes:
        if isinstance(node, exp.Alias):
            aliases.setdefault(node.alias.casefold(), []).append(node.this)
    columns = [c for node in nodes if isinstance(node, exp.Select) for c in node.selects]
    return QueryFacts(
        aliases={name: tuple(expressions) for name, expressions in aliases.items()},
        conditions=tuple(_conditions(nodes)),
        columns_by_position=tuple(columns) if _names_by_position(nodes) else (),
        untrusted_constant=_untrusted_constant(nodes),
        reads_clock=any(map(is_clock, nodes)),
        has_generator=any(map(_is_generator, nodes)),
    )


def _is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.casefold() in _GENERATORS
    if isinstance(node, exp.Table):  # a table function of the project has a plan
        return isinstance(node.this, exp.Func) and not isinstance(node.this, exp.Anonymous)
    return isinstance(node, exp.UDTF) and not isinstance(node, exp.Values)


def untrusted_columns(queries: Sequence[QueryFacts]) -> frozenset[str]:
    """Return the columns, in lower case, that a predicate may see through a computation."""
    aliases: dict[str, list[exp.Expr]] = {}
    for query in queries:
        for name, expressions in query.aliases.items():
            aliases.setdefault(name, []).extend(expressions)
    names: set[str] = set()
    for query in queries:
        for condition in query.conditions:
            names |= _computed_from(condition, aliases)
        for column in query.columns_by_position:
            names |= _computed_from(column, {})
    return _with_sources(names, aliases)


def _untrusted_constant(nodes: Sequence[exp.Expr]) -> str | None:
    for node in nodes:
        if reads_differently(node):
            return node.sql(dialect="spark")
    for node in _constants(nodes):
        if not _is_trusted(node):
            return node.sql(dialect="spark")
    return None


def _constants(nodes: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the largest expressions that have the same value in every row."""
    varying: set[int] = set()
    for node in reversed(nodes):
        if id(node) in varying or isinstance(node, _VARYING):
            varying.add(id(node))
            varying.add(id(node.parent))
    for node in nodes:
        computes = isinstance(node, exp.Func | exp.Binary | exp.Unary)
        is_largest = id(node.parent) in varying and not isinstance(node.parent, exp.Window)
        if computes and is_largest and id(node) not in varying:
            yield node


def _conditions(nodes: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for node in nodes:
        match node:
            case exp.Filter():
                yield node.expression
            case exp.Where() | exp.Having() | exp.Qualify():
                yield node.this
            case exp.Join() if node.args.get("on") is not None:
                yield node.args["on"]
            case _ if isinstance(node, _PREDICATES):
                yield node


def _names_by_position(nodes: Sequence[exp.Expr]) -> bool:
    """Return whether a column may have a name that is not written next to it."""
    return any(
        isinstance(node, exp.SetOperation) or (isinstance(node, exp.TableAlias) and node.columns)
        for node in nodes
    )


def _computed_from(expression: exp.Expr, aliases: dict[str, list[exp.Expr]]) -> set[str]:
    """Return the columns used in computations, in an expression or through its aliases."""
    names: set[str] = set()
    seen: set[str] = set()
    waiting = [(expression, False)]
    while waiting:
        node, is_computed = waiting.pop()
        if isinstance(node, exp.Query | exp.AggFunc | exp.Window):
            continue
        if isinstance(node, exp.Column):
            name = node.name.casefold()
            if is_computed:
                names.add(name)
            elif name not in seen:
                seen.add(name)
                waiting += [
                    (aliased, False) for aliased in aliases.get(name, ()) if aliased is not node
                ]
            continue
        computes = not isinstance(node, _TRANSPARENT)
        waiting += [(part, is_computed or computes) for part in node.iter_expressions()]
    return names


def _with_sources(names: set[str], aliases: dict[str, list[exp.Expr]]) -> frozenset[str]:
    """Return the names, and the source columns of the aliases among them."""
    sources: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources.add(name)
            for aliased in aliases.get(name, ()):
                waiting += [column.name.casefold() for column in aliased.find_all(exp.Column)]
    return frozenset(sources)


def _is_trusted(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return _is_trusted_cast(node)
    if not isinstance(node, _SAME_IN_BOTH):
        return False
    return all(_is_trusted(part) for part in node.iter_expressions())


def _is_trusted_cast(node: exp.Cast) -> bool:
    value, kind = node.this.unnest(), node.to.this
    if isinstance(value, exp.Null):
        return True
    if isinstance(value, exp.Neg):
        value = value.this.unnest()
    if not isinstance(value, exp.Literal):
        return False
    if not value.is_string:
        return kind in _NUMBERS
    if kind is _Kind.DATE:
        return _DATE.fullmatch(value.name) is not None
    if kind in _TIMES:
        return _TIME.fullmatch(value.name) is not None
    return kind in {_Kind.TEXT, _Kind.VARCHAR}
