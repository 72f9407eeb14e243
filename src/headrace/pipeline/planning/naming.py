"""How a query names columns: which names it mentions, and whether it takes columns as they come.

What a name means depends on the columns that are there: a new column may take the place of an
alias, or of a column of an outer query. As long as no column of a mentioned name comes, goes or
changes, every name means what it meant.
"""

from collections.abc import Iterable

import msgspec
from sqlglot import exp


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """How a query names the columns of what it reads."""

    names: frozenset[str] = frozenset()
    """All names in it, in lower case, whatever they stand for."""
    has_star: bool = False
    """Whether its result depends on the order of columns: `*`, or a join that finds its own."""


def naming_of(tree: exp.Query) -> Naming:
    """The names of one query."""
    names = frozenset(node.name.casefold() for node in tree.find_all(exp.Identifier))
    return Naming(names=names, has_star=_has_star(tree))


def combine_namings(namings: Iterable[Naming]) -> Naming:
    """The names of a view and of all that is computed as part of it."""
    parts = tuple(namings)
    return Naming(
        names=frozenset().union(*(part.names for part in parts)),
        has_star=any(part.has_star for part in parts),
    )


def _has_star(tree: exp.Query) -> bool:
    stars = (node for node in tree.find_all(exp.Star) if not isinstance(node.parent, exp.Count))
    joins = (join for join in tree.find_all(exp.Join) if join.method or join.args.get("using"))
    return any(True for _ in stars) or any(True for _ in joins) or tree.find(exp.Pivot) is not None
