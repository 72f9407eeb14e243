#!/usr/bin/env python3
"""Write docs/reference/catalogue.md from the catalogue of translations."""

from pathlib import Path

from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES, RANKS
from headrace.pipeline.translation.catalogue.arithmetic import ARITHMETIC
from headrace.pipeline.translation.catalogue.binary import BINARY as BYTES
from headrace.pipeline.translation.catalogue.collection import COLLECTION
from headrace.pipeline.translation.catalogue.entry import Entry
from headrace.pipeline.translation.catalogue.form import FORM
from headrace.pipeline.translation.catalogue.higher_order import HIGHER_ORDER
from headrace.pipeline.translation.catalogue.interval import INTERVAL
from headrace.pipeline.translation.catalogue.json import JSON
from headrace.pipeline.translation.catalogue.number import NUMBER
from headrace.pipeline.translation.catalogue.number_text import NUMBER_TEXT
from headrace.pipeline.translation.catalogue.pattern import PATTERN
from headrace.pipeline.translation.catalogue.special_value import SPECIAL_VALUE
from headrace.pipeline.translation.catalogue.text import TEXT
from headrace.pipeline.translation.catalogue.time import TIME
from headrace.pipeline.translation.catalogue.time_format import TIME_FORMAT
from headrace.pipeline.translation.catalogue.time_zone import TIME_ZONE
from headrace.pipeline.translation.catalogue.variant import VARIANTS
from headrace.pipeline.translation.catalogue.vector import VECTOR
from headrace.pipeline.translation.catalogue.word import WORD
from headrace.pipeline.translation.catalogue.xpath import XPATH
from headrace.pipeline.translation.operator import BINARY

PAGE = Path(__file__).resolve().parent / "reference" / "catalogue.md"

HEAD = """\
# What runs on DataFusion

The meaning of a view is what Spark SQL returns for it on Spark. `--engine datafusion` computes a
view only if the result is proven to equal Spark's: each operator, function and cast is looked up in
this catalogue, with the types of its arguments. An expression that is not listed is refused before
anything runs, with its position in the text; the view still runs on Spark.

Every entry is verified by the same test suite against Spark itself: the examples in Spark's own
function descriptions, read from the installed PySpark, and random typed queries drawn from this
catalogue, over tables with nulls, NaN, both zeros, extremes, empty and
non-BMP text, dates before 1582 and after 9999, and decimals at full precision. Each statement
must give Spark's rows or be refused. Spark 4.3 has 1,291 examples. 24 of them have another result
each time and are not judged. Of the other 1,267, at least {least} are equal (70 %), the rest are
refused, and none differs. About 100 of the refused ones cannot be judged either: Spark itself
fails, or cannot hand over the type. Without these it is 76 %.

A *kernel* is a function over Arrow arrays that is part of Headrace. Among types, `INTEGER` means
any whole number, `NUMERIC` any number, and `ANY` any type. Optional arguments are in brackets, dots
follow an argument that can be repeated, and `!` follows one that must be a literal. `TEXT` and
`BYTES` are `STRING` and `BINARY` without implicit casts. Names are those of Spark.

This page is written by `docs/make_catalogue.py`.

Some functions are proven for some values only: `from_json`, `parse_url`, XPath, functions of
VARIANT, `power` of whole numbers, `BINARY` as `STRING`, and `regexp_replace`, `regexp_count` and
`regexp_extract_all` with a pattern that can match nothing. They are there for constants, which are
computed while the view is planned, and refused over columns. An argument that can fail is evaluated
where Spark evaluates it: `a + 1 DIV b` is null where `a` is, even if `b` is zero. If it occurs
twice, each time only after `AND`, `OR` or `FILTER`, it is refused: Spark evaluates it before them.
So is a column of an inner query that can fail, if a `SELECT` list reads it once, after `AND` or
`OR`. A column that fails for rows that only a join drops ends the run with an error: Spark computes
it before or after the join, depending on the sizes of the tables.

For one kind of value a run ends with an error where Spark gives a result: a `FLOAT` or `DOUBLE`
whose text differs between releases of Java (before 19 it sometimes has one digit more than needed).

## Settings

| setting | what is refused |
|---|---|
| `ansi = false` | rounding of decimals to places by `floor` and `ceil` |
| a time zone other than UTC | `time_bucket` of `TIMESTAMP` |
| any | results with a column that Spark names itself: `a + 1` without `AS` |
| any | times of day without a date as `TIMESTAMP` |
| any | columns that are an interval, a `TIME` or a `VARIANT` |
| any | `FLOAT` and `DOUBLE` in arrays that are searched |

## Dates and times in words

Time zones have the rules of Java's tables, also before 1900 and after 2037: they come with the
package (`docs/make_zone_rules.py` writes them), and a test compares every zone with the Java that
runs Spark. Patterns are written with `y M d D E a H h k K m s S` and quoted text, and read with
`yyyy y MM M dd d HH H mm m ss s S` if no field is missing before one that is there. The units
`MICROSECOND` to `YEAR` are there in `timestampadd`, `timestampdiff`, `dateadd` and `datediff`.
Intervals are computed with and compared, but are never a column: Delta cannot store them.

## Operators

"""


LAMBDAS = """\
The body of a lambda is evaluated once over the elements of all rows; columns of the query that it
names are repeated for each element. A body has no queries, aggregates, windows, functions of the
project, chance or clock.
"""
ORDER = """\
Spark does not define the order in which an aggregate meets its rows. Two rules follow:

- An aggregate that would give *another value* in another order is refused: `first`, `any_value`,
  `mode` without an order, `listagg` without `WITHIN GROUP`, and `collect_list` and `collect_set`
  other than inside `size`, `sort_array` and the like. `max_by` and `min_by` run, and fail if rows
  with the same key have different values, because Spark would pick any of them.
- An aggregate of doubles that would differ in its *last digits* runs: `sum`, `avg`, `stddev`,
  `corr`, `regr_slope` and their relatives. It adds row by row, in one partition, with Spark's
  formulas. So it gives exactly what Spark gives when one task reads the rows in the same order.
  With several tasks, Spark itself gives other last digits from run to run. `headrace plan` reports
  `FLOAT_SUM` for such a view, on both runners; cast to `DECIMAL` to make the sum exact.

`row_number` and other functions of a row's place in a window, and `LIMIT`, depend on the order of
rows that `ORDER BY` holds equal. They run, and `headrace plan` reports `WINDOW_TIES`,
`LIMIT_TIES` or `UNORDERED_LIMIT`: add keys until no two rows are equal.
"""

QUERIES = [
    ("`WITH`", "the query, inlined", "`RECURSIVE`; columns of a query around it"),
    ("joins, also `SEMI`, `ANTI`, `NATURAL`, `USING`", "the same join, left to right",
     "`ASOF`; `USING` of different types; two relations of one name"),
    ("`LATERAL (SELECT ...)`", "a join", "an aggregate with `HAVING` or next to a constant"),
    ("`explode`, `posexplode`, `inline`, `stack`, in `SELECT`, `FROM`, `LATERAL [VIEW]`",
     "an array of structs, then `unnest`; the text is run, not a stored plan",
     "with aggregates, windows or another one in the same list"),
    ("`range`", "the same", "more than a million rows; expressions"),
    ("`GROUP BY` keys, aliases, places, `ALL`", "`GROUP BY`",
     "nested types; a column called `all`"),
    ("`ROLLUP`, `CUBE`, `GROUPING SETS`", "each row once for each set, as Spark expands it",
     "a key that is part of another key; only `()`"),
    ("`UNION`, `INTERSECT`, `EXCEPT`", "the same, in the common types",
     "`INTERSECT` and `EXCEPT` of a side that may fail for some values"),
    ("`INTERSECT ALL`, `EXCEPT ALL`", "the distinct form, over numbered rows", "as above"),
    ("`IN (SELECT ...)`, also of several columns", "a semi join", "as a value"),
    ("`NOT IN (SELECT ...)`", "an anti join and a look at the nulls", "as a value"),
    ("`EXISTS`", "a semi join",
     "as a value; where another query lies between; a correlated aggregate"),
    ("a query as a value", "a join; more than one row is an error",
     "with columns of the query around it, unless it aggregates, or after `GROUP BY`"),
    ("`ORDER BY`", "the same, with the place of nulls written out", "nested types"),
    ("`LIMIT`, `OFFSET`", "the same", "expressions"),
    ("`WINDOW`, `QUALIFY`", "the same", "frames by `RANGE` with numbers"),
    ("`VALUES`", "the rows", ""),
    ("`PIVOT`, `UNPIVOT`", "aggregates with a condition; a union",
     "several columns at once; expressions of aggregates"),
    ("`TABLESAMPLE`, pipes", "", "all"),
]  # fmt: skip
"""For each form of a query: how it runs, and which parts are refused."""


def render() -> str:
    """Return the page as Markdown."""
    operators = ", ".join(f"`{operator}`" for operator in BINARY if operator != "|")
    forms = (
        "`AND`, `OR`, `NOT`, `IS [NOT] NULL`, `IS [NOT] TRUE`, `BETWEEN`, `IN`, `LIKE`, "
        "`LIKE ANY`, `LIKE ALL`, `CASE`, `CAST`, `TRY_CAST`, `EXISTS`, `a[i]`, `m[k]`, "
        "fields of structs"
    )
    sections = "".join(
        _section(title, entries)
        for title, entries in (
            ("Conditions", FORM),
            ("Numbers", [*NUMBER, *ARITHMETIC, *SPECIAL_VALUE]),
            ("Numbers in formats", NUMBER_TEXT),
            ("Texts", [*TEXT, *WORD]),
            ("Patterns", PATTERN),
            ("Bytes", BYTES),
            ("JSON", JSON),
            ("Dates and times", [*TIME, *TIME_FORMAT, *TIME_ZONE]),
            ("Intervals", INTERVAL),
            ("Arrays, maps and structs", COLLECTION),
            ("Vectors", VECTOR),
            ("Variants", VARIANTS),
            ("XML", XPATH),
        )
    )
    lambdas = [(entry.name, entry.takes, entry.how) for entry in HIGHER_ORDER.values()]
    rows = [(entry.name, entry.takes, entry.how) for entry in AGGREGATES.values()]
    rows += [(name, "", name) for name in RANKS]
    rows += [
        ("ntile", "INTEGER!", "ntile"),
        ("nth_value", "ANY INTEGER!", "nth_value"),
        ("lag, lead", "ANY [INTEGER!] [ANY!]", "lag, lead"),
        ("first_value, last_value", "ANY", "over an ordered window"),
    ]
    queries = "".join(f"| {' | '.join(row)} |\n" for row in QUERIES)
    head = HEAD.replace("{least}", "890")
    return (
        f"{head}{operators}, `\\|`, {forms}.\n{sections}"
        f"\n## Lambdas\n\n{LAMBDAS}\n{_table(lambdas)}"
        f"\n## Aggregates and windows\n\n{ORDER}\n{_table(rows)}"
        "\n## Queries\n\nOf the 22 queries of TPC-H and the 99 of TPC-DS all run, with Spark's "
        "rows (`make tpcds`).\n\n"
        f"| form | how it runs | refused |\n|---|---|---|\n{queries}"
    )


def _section(title: str, entries: list[Entry]) -> str:
    rows = [(entry.name, " ".join(entry.takes), entry.how) for entry in entries]
    return f"\n## {title}\n\n{_table(sorted(set(rows)))}"


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = ["| function | takes | computed by |", "|---|---|---|"]
    for name, takes, how in rows:
        shown = how.replace("|", "\\|")
        lines.append(f"| `{name}` | {f'`{takes}`' if takes else ''} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
