"""Parts of the query translation are broken on purpose: the comparison detects each."""

from collections.abc import Callable
from typing import Any

import pytest

from headrace.pipeline.translation import (
    expression,
    grouping,
    join,
    literal,
    order,
    relation,
    set_operation,
)
from headrace.pipeline.translation.catalogue import pattern
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.operator import BINARY
from headrace.pipeline.translation.subquery import in_query
from headrace.pipeline.translation.typed import Typed, native
from headrace.pipeline.translation.window import sort_key
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows
from tests.pipeline.differential.hard_table import TABLES

Break = Callable[[pytest.MonkeyPatch], None]


def negated_in(compiler: Any, node: Any, scope: Any) -> Typed:
    translation = in_query(compiler, node, scope)
    return native("(NOT {0})", translation.type, translation)


def nulls_elsewhere(*arguments: Any) -> str:
    written = sort_key(*arguments)
    is_first = "NULLS FIRST" in written
    return written.replace("FIRST", "LAST") if is_first else written.replace("LAST", "FIRST")


def unnumbered(side: str, width: int) -> str:
    names = ", ".join(f"c{place}" for place in range(width))
    return f'SELECT {names}, 1 AS "N" FROM ({side}) AS q'


def dropping_one(sets: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: sets(*arguments)[:-1]


def later_columns_first(columns: Callable[..., Any]) -> Callable[..., Any]:
    return lambda outputs, *rest: tuple(reversed(columns(outputs, *rest)))


MUTATIONS: dict[str, tuple[Break, str]] = {
    "a join of another kind": (
        lambda patch: patch.setitem(join._JOINS, ("LEFT", ""), "INNER JOIN"),
        "SELECT p.k, q.k AS qk FROM everyday p LEFT JOIN extreme q ON p.k = q.i",
    ),
    "NOT IN without regard to nulls": (
        lambda patch: patch.setattr(expression, "not_in_query", negated_in),
        "SELECT k FROM everyday WHERE d NOT IN (SELECT d FROM extreme)",
    ),
    "a grouping set is lost": (
        lambda patch: patch.setattr(grouping, "_sets_of", dropping_one(grouping._sets_of)),
        "SELECT b, count(*) AS n FROM everyday GROUP BY ROLLUP (b)",
    ),
    "a column of a grouping set is never null": (
        lambda patch: patch.setattr(grouping, "_one_of", lambda *_: "TRUE"),
        "SELECT b, count(*) AS n FROM everyday GROUP BY CUBE (b)",
    ),
    "equal rows are one row": (
        lambda patch: patch.setattr(set_operation, "_numbered", unnumbered),
        "SELECT b FROM everyday INTERSECT ALL SELECT b FROM everyday",
    ),
    "nulls are sorted to the other end": (
        lambda patch: patch.setattr(order, "sort_key", nulls_elsewhere),
        "SELECT k, i FROM everyday ORDER BY i, k LIMIT 2",
    ),
    "columns are named in another order": (
        lambda patch: patch.setattr(relation, "renamed", later_columns_first(relation.renamed)),
        "SELECT x FROM (SELECT k, k + 1 AS j FROM everyday) AS q(x, y)",
    ),
    "another operator": (
        lambda patch: patch.setitem(BINARY, "-", BINARY["+"]),
        "SELECT k - y AS a FROM everyday",
    ),
    "another aggregate": (
        lambda patch: patch.setitem(AGGREGATES, "max", AGGREGATES["min"]),
        "SELECT b, max(k) AS a FROM everyday GROUP BY b",
    ),
    "escapes in strings are not read": (
        lambda patch: patch.setattr(literal, "string_value", lambda written: written[1:-1]),
        r"SELECT 'a\tb' AS a, 'it\'s' AS b",
    ),
    "a pattern of LIKE matches more": (
        lambda patch: patch.setattr(pattern, "like_parts", lambda p, _: f"{p}%"),
        "SELECT k FROM everyday WHERE s LIKE 'a'",
    ),
    "an escape of LIKE is forgotten": (
        lambda patch: patch.setattr(pattern, "like_parts", lambda p, e: p.replace(e, "")),
        r"SELECT k FROM extreme WHERE s LIKE '%b\\_c%' OR w LIKE '\\_'",
    ),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_part_is_found(
    mutation: str, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it, sql = MUTATIONS[mutation]
    theirs = spark_rows(session, sql)
    intact, broken = Tally(), Tally()
    intact.count(sql, Prepared(sql, TABLES).rows(), theirs)
    break_it(monkeypatch)
    broken.count(sql, Prepared(sql, TABLES).rows(), theirs)
    assert (intact.equal, len(broken.different)) == (1, 1)
