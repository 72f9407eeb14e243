"""Random queries with generators in the SELECT list, after LATERAL VIEW, and in FROM."""

from hypothesis import strategies as st

from tests.pipeline.differential.random_expression import Draw, Writer
from tests.pipeline.differential.random_vocabulary import PLAIN

_VALUES = [
    *("ai", "st", "m", "CASE WHEN b THEN ai END", "filter(ai, x -> x > 0)", "array(d, -0.0D)"),
    *("array(dt)", "transform(st, x -> length(x))", "map_filter(m, (q, v) -> v > 0)"),
    *("array(ai, NULL)", "array(ts, NULL, ts)", "sequence(1, k)"),
]
_STRUCTS = [
    *("array(struct(k, s), struct(k + 1, w))", "arrays_zip(ai, st)", "map_entries(m)"),
    *("filter(arrays_zip(ai, st), x -> x.ai > 1)", "array(named_struct('a', d, 'c', b), NULL)"),
]


@st.composite
def generations(draw: Draw) -> str:
    """Draw a query that generates rows from arrays."""
    writer = Writer(draw)
    source = writer.pick(["everyday", "extreme"])
    value, structs = writer.pick(_VALUES), writer.pick(_STRUCTS)
    outer = writer.pick(["", "_outer"])
    where = f" WHERE {writer.value('BOOLEAN', 1)}" if writer.pick([0, 1]) else ""
    word = writer.pick(["explode", "posexplode"])
    match draw(st.integers(0, 6)):
        case 0:
            return f"SELECT k, {word}{outer}({value}) FROM {source}{where}"
        case 1:
            return f"SELECT inline{outer}({structs}) FROM {source}{where}"
        case 2:
            word = writer.pick(["LATERAL VIEW", "LATERAL VIEW OUTER"])
            return f"SELECT p.k, u.* FROM {source} p {word} explode({value}) u{where}"
        case 3:
            kind = writer.pick(PLAIN)
            cells = ", ".join(writer.column(kind) for _ in range(3))
            return f"SELECT k, stack(2, {cells}) FROM {source}{where}"
        case 4:
            low, high, step = writer.pick([(0, 5, 2), (3, 1, 1), (5, -2, -3), (-1, 3, 1)])
            return f"SELECT * FROM range({low}, {high}, {step}) r"
        case 5:
            return f"SELECT p.k, u.x FROM {source} p, LATERAL explode{outer}(st) AS u(x){where}"
        case _:
            views = "LATERAL VIEW explode(ai) u AS e LATERAL VIEW OUTER posexplode(st) v AS h, j"
            return f"SELECT e, count(j) AS n, max(h) AS g FROM {source} {views} GROUP BY e"
