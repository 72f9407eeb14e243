"""Random Spark SQL queries: filters, groups, joins, set operations, windows and subqueries."""

from collections.abc import Callable

from hypothesis import strategies as st

from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from tests.pipeline.differential.hard_table import COLUMNS
from tests.pipeline.differential.random_expression import Draw, Writer
from tests.pipeline.differential.random_vocabulary import OF_COLUMNS, PLAIN, WORDS

_SHARES = ["0.5", "0.25", "1.0", "0", "0.9D", "0.333", "array(0.1, 0.75)"]


def _aggregate(writer: Writer) -> str:
    entry = AGGREGATES[writer.pick(sorted(AGGREGATES))]
    if entry.name == "count" and writer.draw(st.booleans()):
        return "count(*)"
    form, _, order = entry.takes.partition(" WITHIN GROUP ")
    arguments: list[str] = []
    for written in form.split():
        if written.startswith("[") and written != "[ANY...]" and writer.draw(st.booleans()):
            break
        if written == "[STRING!]":
            arguments.append("', '")
            continue
        arguments.append(_aggregated(writer, entry.name, written.strip("[].!")))
    if order:
        key = (
            arguments[0]
            if "the same" in order
            else _aggregated(writer, entry.name, "INTEGER|FLOATING")
        )
        if "the same" not in order:
            arguments = [a for a in arguments if not a.startswith("array")] or ["0.5"]
        return f"{entry.name}({', '.join(arguments)}) WITHIN GROUP (ORDER BY {key})"
    is_plain = len(arguments) == 1 and writer.draw(st.integers(0, 4)) == 0
    only = " FILTER (WHERE b)" if writer.draw(st.integers(0, 4)) == 0 else ""
    return f"{entry.name}({'DISTINCT ' if is_plain else ''}{', '.join(arguments)}){only}"


def _aggregated(writer: Writer, name: str, word: str) -> str:
    """Return an argument of an aggregate."""
    if word == "SHARE":
        return str(writer.pick(_SHARES))
    if name in {"max_by", "min_by"} and word == "INTEGER":
        return str(writer.pick(["1", "2"]))
    if word == "TRUE":
        return "true"
    if word == "VARIANT":
        return writer.variant(1)
    if name in {"listagg", "string_agg"}:
        return str(writer.pick(["w", "s"]))
    kind = writer.pick([k for part in word.split("|") for k in WORDS.get(part, [part])])
    return writer.leaf(kind) if kind == "DOUBLE" else writer.value(kind, 1)


@st.composite
def projections(draw: Draw) -> str:
    writer = Writer(draw)
    return writer.any(draw(st.integers(1, 3)))


@st.composite
def aggregations(draw: Draw) -> str:
    """Draw a query that aggregates, in groups or over all rows."""
    source = draw(st.sampled_from(["everyday", "everyday", "extreme"]))
    form = draw(st.sampled_from([_grouped, _grouped, _windowed]))
    return str(form(Writer(draw), source, ""))


@st.composite
def queries(draw: Draw) -> str:
    """Draw an unordered query over the tables."""
    source = draw(st.sampled_from(["everyday", "everyday", "extreme"]))
    writer = Writer(draw)
    where = f" WHERE {writer.value('BOOLEAN', 2)}" if draw(st.booleans()) else ""
    form: Callable[[Writer, str, str], str] = draw(
        st.sampled_from(
            [_filtered, _grouped, _rolled, _joined, _merged, _united, _windowed, _nested, _limited]
        )
    )
    return form(writer, source, where)


def _filtered(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["", "DISTINCT "])
    return f"SELECT {word}{writer.value(writer.pick(PLAIN), 2)} AS a FROM {source}{where}"


def _grouped(writer: Writer, source: str, where: str) -> str:
    key = writer.value(writer.pick(PLAIN), 1)
    some = [_branched(writer, _aggregate(writer)) for _ in range(2)]
    test = writer.pick([f"{_aggregate(writer)} IS NOT NULL", "count(*) > 1", "count(i) < 3"])
    having = f" HAVING {test}" if writer.pick([0, 1]) else ""
    if writer.pick([0, 0, 1]):
        return f"SELECT {some[0]} AS p, {some[1]} AS q FROM {source}{where}"
    by = writer.pick([key, "g", "1"])
    shown = f"{key} AS g, {some[0]} AS p, {some[1]} AS q"
    grouped = f"SELECT {shown} FROM {source}{where} GROUP BY {by}{having}"
    if writer.pick([0, 0, 0, 1]):
        return f"SELECT {writer.pick(['*', 'g, q'])} FROM ({grouped}) WHERE p IS NOT NULL"
    return grouped


def _branched(writer: Writer, aggregate: str) -> str:
    """Return an aggregate, sometimes in a branch that not every group needs."""
    form = writer.pick(
        ["{0}"] * 4
        + ["CASE WHEN count(*) > 1 THEN {0} END", "if(min(k) > 3, {0}, NULL)"]
        + ["(count(*) > 2 AND {0} IS NULL)", "nvl2(max(i), {0}, NULL)"]
    )
    return str(form.format(aggregate))


def _rolled(writer: Writer, source: str, where: str) -> str:
    """Return a query with grouping sets over columns and expressions."""
    one, two = (writer.value(writer.pick(PLAIN), writer.pick([0, 0, 1])) for _ in range(2))
    sets = writer.pick(
        [
            f"ROLLUP ({one}, {two})", f"CUBE ({one}, {two})", f"{one}, ROLLUP ({two})",
            f"{one}, {two} WITH ROLLUP", f"ROLLUP (({one}, {two}))",
            f"GROUPING SETS (({one}, {two}), ({two}), ())", f"CUBE ({one}), ROLLUP ({two})",
            f"GROUPING SETS (({one}), ROLLUP ({two}, {one}))",
        ]
    )  # fmt: skip
    more = writer.pick(["", f", grouping({two}) AS g", ", grouping_id() AS g"])
    shown = f"{one} AS x, {two} AS y, {_aggregate(writer)} AS z{more}"
    return f"SELECT {shown} FROM {source}{where} GROUP BY {sets}"


def _merged(writer: Writer, source: str, where: str) -> str:
    """Return a join on columns of the same name, with some matching values."""
    del where
    name = writer.pick([name for kind in PLAIN for name in OF_COLUMNS[kind] if name != "k"])
    word = writer.pick(["", "LEFT ", "RIGHT ", "FULL ", "LEFT SEMI ", "LEFT ANTI "])
    other = writer.pick(["everyday", "extreme"])
    left = f"(SELECT k, {name} FROM {source}) p"
    right = f"(SELECT {name}, k AS kk FROM {other}) q"
    if writer.pick([0, 1]):
        return f"SELECT * FROM {left} NATURAL {word}JOIN {right}"
    return f"SELECT * FROM {left} {word}JOIN {right} USING ({name})"


def _joined(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN",
                        "LEFT ANTI JOIN", "CROSS JOIN"])  # fmt: skip
    kind = writer.pick(PLAIN)
    name = writer.pick(OF_COLUMNS[kind])
    other = writer.pick(["everyday", "extreme"])
    more = f" AND p.b {writer.pick(['=', '<=>'])} q.b" if writer.pick([0, 1]) else ""
    operator = writer.pick(["=", "<=>", "<"])
    on = "" if word == "CROSS JOIN" else f" ON p.{name} {operator} q.{name}{more}"
    del where
    shown = "p.k AS a" if "SEMI" in word or "ANTI" in word else "p.k AS a, q.k AS c"
    return f"SELECT {shown} FROM {source} p {word} {other} q{on}"


def _united(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"])
    kind = writer.pick(PLAIN)
    other = writer.pick(["everyday", "extreme"])
    sides = [writer.value(kind, 1) for _ in range(2)]
    return f"SELECT {sides[0]} AS a FROM {source}{where} {word} SELECT {sides[1]} FROM {other}"


def _windowed(writer: Writer, source: str, where: str) -> str:
    del where
    parts = f"PARTITION BY {writer.value(writer.pick(PLAIN), 1)} " if writer.pick([0, 1]) else ""
    down = writer.pick(["", " DESC", " DESC NULLS FIRST", " NULLS LAST"])
    frame = writer.pick(
        ["", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
         " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
         " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"]
    )  # fmt: skip
    kind = writer.pick(PLAIN)
    function, order = writer.pick(
        [
            ("row_number()", f"{writer.leaf(kind)}{down}, k"),
            ("rank()", f"{writer.leaf(kind)}{down}"),
            ("dense_rank()", f"{writer.leaf(kind)}{down}"),
            ("percent_rank()", f"{writer.leaf(kind)}{down}"),
            ("cume_dist()", f"{writer.leaf(kind)}{down}"),
            ("ntile(3)", f"{writer.leaf(kind)}{down}, k"),
            (f"lag({writer.column(kind)})", f"{writer.leaf(kind)}{down}, k"),
            (f"lead({writer.column(kind)}, 2)", f"k{down}"),
            (f"nth_value({writer.column(kind)}, 2)", f"k{down}{frame}"),
            (f"rank({writer.column(kind)})", f"{writer.leaf(kind)}{down}"),
            (f"first_value({writer.column(kind)})", f"k{down}{frame}"),
            (f"last_value({writer.column(kind)})", f"k{down}{frame}"),
            (_aggregate(writer).replace(" FILTER (WHERE b)", ""), f"k{down}{frame}"),
        ]
    )
    return f"SELECT k, {function} OVER ({parts}ORDER BY {order}) AS a FROM {source}"


def _nested(writer: Writer, source: str, where: str) -> str:
    kind = writer.pick(PLAIN)
    name = writer.pick(OF_COLUMNS[kind])
    other = writer.pick(["everyday", "extreme"])
    inner = f"SELECT q.{name} FROM {other} q WHERE {Writer(writer.draw, 'q.').value('BOOLEAN', 1)}"
    condition = writer.pick(
        [
            f"{name} IN ({inner})",
            f"{name} NOT IN ({inner})",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.{name} IS NOT NULL)",
            f"EXISTS (SELECT * FROM {other} q WHERE q.{name} = p.{name})",
            f"NOT EXISTS (SELECT * FROM {other} q WHERE q.{name} = p.{name} AND q.k > p.k)",
            f"{name} >= (SELECT max(q.{name}) FROM {other} q WHERE q.k = p.k)",
            f"k > (SELECT count(*) FROM {other} q WHERE q.{name} = p.{name})",
            f"{name} IN (SELECT q.{name} FROM {other} q WHERE q.b = p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.b = p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.b <=> p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.k > p.k)",
            f"(k, {name}) {writer.pick(['', 'NOT '])}IN (SELECT q.y, q.{name} FROM {other} q)",
            f"NOT ({name} IN (SELECT q.{name} FROM {other} q WHERE q.k = p.k))",
            f"{name} > (SELECT q.{name} FROM {other} q WHERE q.k = {writer.pick([1, 4, 9])})",
        ]
    )
    del where
    return f"WITH p AS (SELECT * FROM {source}) SELECT k FROM p WHERE {condition}"


def _limited(writer: Writer, source: str, where: str) -> str:
    key = writer.leaf(writer.pick(PLAIN))
    down = writer.pick(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])
    count, skip = writer.pick([1, 3]), writer.pick(["", " OFFSET 2"])
    return f"SELECT k, {key} AS a FROM {source}{where} ORDER BY {key}{down}, k LIMIT {count}{skip}"


assert set(COLUMNS) >= {name for names in OF_COLUMNS.values() for name in names}
