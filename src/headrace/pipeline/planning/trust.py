"""What must hold before a filter that DataFusion has found may prune files for Spark.

DataFusion plans a translation and folds what it can: `CAST(id AS STRING) = '5'` becomes
`id = 5`, a date in a format becomes a date. The engines agree on plain literals, on their sums
and on dates and intervals; on casts of columns and on functions they may not, and then the
files that a filter leaves out might be needed. So a column that a condition sees through a cast,
a function or an operator is never pruned by, and a constant that is more than a literal stops
pruning.
"""

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

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
"""What stands between a condition and its columns without computing anything from them."""
_VARYING = (exp.Column, exp.Star, exp.Query, exp.AggFunc, exp.Window, exp.UDTF)
"""What makes an expression another one in each row, or each group."""
_SAME_IN_BOTH = (
    *(exp.Literal, exp.Boolean, exp.Null, exp.Interval, exp.Neg, exp.Paren, exp.Add, exp.Sub),
    *(exp.Mul, exp.And, exp.Or, exp.Not, exp.Var, exp.Identifier, exp.Tuple, *_PREDICATES),
)


def untrusted_constant(trees: Iterable[exp.Query]) -> str | None:
    """A constant expression on whose value the engines might differ, as text."""
    for tree in trees:
        for node in _constants(tree):
            if not _is_trusted(node):
                return node.sql(dialect="spark")
    return None


def _constants(tree: exp.Query) -> Iterator[exp.Expr]:
    """The largest expressions that have the same value in every row."""
    nodes = list(tree.walk())  # parents come first
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


def untrusted_columns(trees: Iterable[exp.Query]) -> frozenset[str]:
    """The columns, by name in lower case, that a predicate may see through something computed."""
    trees = list(trees)
    aliases: dict[str, list[exp.Expr]] = {}
    for tree in trees:
        for alias in tree.find_all(exp.Alias):
            aliases.setdefault(alias.alias.casefold(), []).append(alias.this)
    found: set[str] = set()
    for tree in trees:
        for condition in _conditions(tree):
            found |= _computed_from(condition, aliases)
        if _names_by_position(tree):
            for column in (
                named for select in tree.find_all(exp.Select) for named in select.selects
            ):
                found |= _computed_from(column, {})
    return _with_sources(found, aliases)


def _conditions(tree: exp.Query) -> Iterator[exp.Expr]:
    """What rows are chosen by, wherever it stands."""
    for clause in tree.find_all(exp.Where, exp.Having, exp.Qualify, exp.Filter):
        yield clause.expression if isinstance(clause, exp.Filter) else clause.this
    for join in tree.find_all(exp.Join):
        if join.args.get("on") is not None:
            yield join.args["on"]
    yield from tree.find_all(*_PREDICATES)


def _names_by_position(tree: exp.Query) -> bool:
    """Whether a column may be known by a name that does not stand beside it."""
    lists = (alias for alias in tree.find_all(exp.TableAlias) if alias.columns)
    return tree.find(exp.SetOperation) is not None or next(lists, None) is not None


def _computed_from(expression: exp.Expr, aliases: dict[str, list[exp.Expr]]) -> set[str]:
    """The columns that something is computed from, in an expression or behind its aliases."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [(expression, False)]
    while waiting:
        node, is_below = waiting.pop()
        if isinstance(node, exp.Query | exp.AggFunc | exp.Window):
            continue
        if isinstance(node, exp.Column):
            name = node.name.casefold()
            if is_below:
                found.add(name)
            elif name not in seen:
                seen.add(name)
                waiting += [(meant, False) for meant in aliases.get(name, ()) if meant is not node]
            continue
        computes = not isinstance(node, _TRANSPARENT)
        waiting += [(part, is_below or computes) for part in node.iter_expressions()]
    return found


def _with_sources(names: set[str], aliases: dict[str, list[exp.Expr]]) -> frozenset[str]:
    """The names, and those of the columns that aliases among them are made of."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for meant in aliases.get(name, ()):
                waiting += [column.name.casefold() for column in meant.find_all(exp.Column)]
    return frozenset(found)


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
