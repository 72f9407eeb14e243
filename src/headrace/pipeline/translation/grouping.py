"""Translates GROUP BY: plain keys, and grouping sets as Spark expands them.

With grouping sets, each row is repeated once per set, with the number of the set; a key that is not
in the set is null. So a rollup is a plain GROUP BY of keys and set number, over more rows.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import TypeAlias

import msgspec
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.compiler import Queries
from headrace.pipeline.translation.literal import ordinal
from headrace.pipeline.translation.operator import ordered
from headrace.pipeline.translation.project_call import is_project_aggregate
from headrace.pipeline.translation.refusal import Refused, unsupported, wrong
from headrace.pipeline.translation.scope import GroupingMarks, Scope
from headrace.pipeline.translation.typed import Typed, identifier, literal_int, sql_cast

PlaceOf: TypeAlias = Callable[[exp.Expr], int]
"""Returns the position of a key among all keys of the clause."""

_MAX_SETS = 512
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_WITH = ("rollup", "cube", "grouping_sets")


class Grouping(msgspec.Struct, frozen=True):
    """What GROUP BY adds to a query."""

    clause: str = ""
    relation: str = ""
    """The relation that FROM is joined with."""


def group_by(queries: Queries, node: exp.Select, scope: Scope) -> Grouping:
    """Compile GROUP BY, and register in the scope what replaces each key."""
    group = node.args.get("group")
    if group is None:
        return Grouping()
    scope.has_groups = True
    if group.args.get("all"):
        names = {c.name for c in scope.columns} | {c.alias.casefold() for c in node.expressions}
        if "all" in names:
            raise unsupported(group, "GROUP BY ALL may mean the column all; use backticks")
        functions = queries.expressions.functions
        keys = [c.unalias() for c in node.expressions if not has_aggregate(c, functions)]
        if any(star_of(c) is not None for c in node.expressions):
            raise unsupported(node, "the catalogue has no GROUP BY ALL with a star")
    else:
        keys = list(group.expressions)
    if any(isinstance(key, _SETS) for key in keys) or any(group.args.get(word) for word in _WITH):
        return _grouping_sets(queries, node, scope)
    texts = []
    for key in keys:
        value = _group_key(queries, key, node, scope)
        plain = ordered(value)
        if plain.text != value.text:
            scope.groups[value.text] = plain
        texts.append(plain.text)
    return Grouping(f" GROUP BY {', '.join(texts)}" if texts else "")


def _grouping_sets(queries: Queries, node: exp.Select, scope: Scope) -> Grouping:
    """Compile a GROUP BY with grouping sets, and register its keys and marks in the scope."""
    group = node.args["group"]
    keys: dict[str, Typed] = {}

    def place_of(key: exp.Expr) -> int:
        value = _group_key(queries, key, node, scope)
        keys.setdefault(value.text, value)
        return list(keys).index(value.text)

    sets = _sets_of(group, place_of)
    if len(sets) > _MAX_SETS:
        raise unsupported(group, f"it has more than {_MAX_SETS} grouping sets")
    texts = list(keys)
    if not texts:
        # Without keys, Spark returns a row for no rows.
        raise unsupported(group, "the catalogue has no grouping sets without a key")
    if any(key in text for key in texts for text in texts if key is not text):
        raise unsupported(group, "a key of a grouping set is part of another key")
    name = queries.new_name()
    number = f"{identifier(name)}.n"
    marks = {}
    for place, (text, value) in enumerate(keys.items()):
        member = _one_of(number, [n for n, key_set in enumerate(sets) if place in key_set])
        scope.groups[text] = Typed(
            f"CASE WHEN {member} THEN {ordered(value).text} END",
            value.type,
            can_fail=value.can_fail,
        )
        flag = f"CASE WHEN {member} THEN 0 ELSE 1 END"
        marks[text] = Typed(sql_cast(flag, t.BYTE), t.BYTE)
    scope.marks = GroupingMarks(marks, _grouping_id(number, sets, len(keys)))
    rows = " UNION ALL ".join(f"SELECT {literal_int(n).text} AS n" for n in range(len(sets)))
    clause = ", ".join([*(scope.groups[text].text for text in texts), number])
    return Grouping(f" GROUP BY {clause}", f" CROSS JOIN ({rows}) AS {identifier(name)}(n)")


def _one_of(number: str, places: Sequence[int]) -> str:
    """Return the condition that a set number is one of `places`."""
    if not places:
        return "FALSE"
    return f"{number} IN ({', '.join(literal_int(place).text for place in places)})"


def _grouping_id(number: str, sets: Sequence[frozenset[int]], width: int) -> Typed:
    """Return a number per set: one bit per missing key, the first key in the highest bit."""
    branches = []
    for place, key_set in enumerate(sets):
        bits = sum(1 << (width - 1 - key) for key in range(width) if key not in key_set)
        branches.append(f"WHEN {literal_int(place).text} THEN {literal_int(bits, t.LONG).text}")
    return Typed(f"CASE {number} {' '.join(branches)} END", t.LONG)


def _sets_of(group: exp.Expr, place_of: PlaceOf) -> list[frozenset[int]]:
    """Return the sets of a clause, each with the positions of its keys."""
    plain = [key for key in group.expressions if not isinstance(key, _SETS)]
    words = [word for word in _WITH if group.args.get(word)]
    if not words:
        parts = [_expand(part, place_of) for part in group.expressions]
        return [_union(choice) for choice in product(*parts)]
    clause = group.args[words[0]][0]
    if len(words) > 1 or len(plain) != len(group.expressions) or len(group.args[words[0]]) > 1:
        raise unsupported(group, "the catalogue does not have this form of GROUP BY")
    for key in plain:
        place_of(key)
    if isinstance(clause, exp.GroupingSets):
        return _expand(clause, place_of)
    return _expand(type(clause)(expressions=plain), place_of)


def _expand(part: exp.Expr, place_of: PlaceOf) -> list[frozenset[int]]:
    """Return the sets that one element of GROUP BY means."""
    match part:
        case exp.GroupingSets():
            return [key_set for inner in part.expressions for key_set in _expand(inner, place_of)]
        case exp.Rollup():
            units = [_unit(inner, place_of) for inner in part.expressions]
            ends = range(len(units), -1, -1)
            return [_union(units[:end]) for end in ends]
        case exp.Cube():
            units = [_unit(inner, place_of) for inner in part.expressions]
            sizes = range(len(units), -1, -1)
            return [_union(chosen) for size in sizes for chosen in combinations(units, size)]
        case _:
            return [_unit(part, place_of)]


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset(place for key_set in sets for place in key_set)


def _unit(part: exp.Expr, place_of: PlaceOf) -> frozenset[int]:
    """Return the positions of keys that a set has together: one key, or those in parentheses."""
    if isinstance(part, _SETS):
        raise unsupported(part, "the catalogue does not have this form of grouping sets")
    members = part.expressions if isinstance(part, exp.Tuple) else [part.unnest()]
    return frozenset(place_of(member) for member in members)


def _group_key(queries: Queries, key: exp.Expr, node: exp.Select, scope: Scope) -> Typed:
    value = _key_value(queries, key, node, scope)
    if not t.is_orderable(value.type):
        raise unsupported(key, f"the catalogue has no GROUP BY {type_text(value.type)}")
    return value


def _key_value(queries: Queries, key: exp.Expr, node: exp.Select, scope: Scope) -> Typed:
    place = ordinal(key)
    if place is not None:
        if any(star_of(column) is not None for column in node.expressions):
            raise unsupported(key, "GROUP BY a position needs a SELECT list without a star")
        if not 1 <= place <= len(node.expressions):
            raise wrong(key, f"there is no column {place} in the SELECT list")
        return queries.expressions.value(node.expressions[place - 1].unalias(), scope)
    if isinstance(key, exp.Column) and len(key.parts) == 1:
        try:
            return scope.find(key)
        except Refused:
            name = key.name.casefold()
            for column in node.expressions:
                if isinstance(column, exp.Alias) and column.alias.casefold() == name:
                    return queries.expressions.value(column.this, scope)
            raise
    return queries.expressions.value(key, scope)


def has_aggregate(column: exp.Expr, functions: Catalog) -> bool:
    """Return whether an expression aggregates, other than over a window or in a subquery."""
    waiting = [column]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query | exp.Window):
            continue
        if is_aggregate(node, functions):
            return True
        waiting += node.iter_expressions()
    return False


def is_global_aggregate(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether a query aggregates all of its rows to one row, even if there are none."""
    if not isinstance(node, exp.Select) or node.args.get("group") is not None:
        return False
    has_having = node.args.get("having") is not None
    return has_having or any(has_aggregate(column, functions) for column in node.expressions)


def aggregates_globally(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether a query, or one in its FROM, aggregates all rows to one row."""
    queries = [node, *(part for part in node.find_all(exp.Select) if _is_in_from(part, node))]
    return any(is_global_aggregate(query.unnest(), functions) for query in queries)


def _is_in_from(node: exp.Expr, outer: exp.Expr) -> bool:
    above = node.find_ancestor(exp.Where, exp.Having, exp.Qualify, exp.From, exp.Join)
    return node is not outer and isinstance(above, exp.From | exp.Join)


def is_aggregate(node: exp.Expr, functions: Catalog) -> bool:
    """Return whether a node is a call of an aggregate."""
    is_known = isinstance(node, exp.Anonymous) and node.name.casefold() in AGGREGATES
    return is_known or is_project_aggregate(functions, node)


def star_of(column: exp.Expr) -> exp.Star | None:
    """Return the star of a SELECT list item; None if it is not a star."""
    if isinstance(column, exp.Star):
        return column
    is_qualified = isinstance(column, exp.Column) and isinstance(column.this, exp.Star)
    return column.this if is_qualified else None
