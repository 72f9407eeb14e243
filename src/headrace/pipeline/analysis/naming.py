"""How a query names columns: which names it mentions, and whether it uses column order.

What a name refers to depends on the columns that exist: a new column may shadow an alias, or a
column of an outer query. As long as no column with a mentioned name is added, removed or changed,
every name keeps its meaning.
"""

from collections.abc import Iterable

import msgspec
from sqlglot import exp


class Naming(msgspec.Struct, frozen=True, kw_only=True):
    """How a query names the columns that it reads."""

    names: frozenset[str] = frozenset()
    """All names in it, in lower case, whatever they refer to."""
    has_star: bool = False
    """Whether its result depends on the order of columns: `*`, or a join that finds its own
    keys."""
    counts_distinct_rows: bool = False
    """Whether it has `COUNT(DISTINCT *)`, which skips rows with a null in any column."""


def naming_of(tree: exp.Query) -> Naming:
    """Return the names of one query."""
    names: set[str] = set()
    has_star = counts_distinct_rows = False
    for node in tree.walk():
        match node:
            case exp.Identifier():
                names.add(node.name.casefold())
            case exp.Star():
                has_star |= not isinstance(node.parent, exp.Count)
                counts_distinct_rows |= isinstance(node.parent, exp.Distinct)
            case exp.Join():
                has_star |= bool(node.method or node.args.get("using"))
            case exp.Pivot():
                has_star = True
    return Naming(
        names=frozenset(names), has_star=has_star, counts_distinct_rows=counts_distinct_rows
    )


def combine_namings(namings: Iterable[Naming]) -> Naming:
    """Combine the names of a view with those of all that is computed as part of it."""
    parts = tuple(namings)
    return Naming(
        names=frozenset().union(*(part.names for part in parts)),
        has_star=any(part.has_star for part in parts),
        counts_distinct_rows=any(part.counts_distinct_rows for part in parts),
    )
