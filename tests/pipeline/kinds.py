"""A project with a function of each kind, over a small table of readings."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

MANIFEST = """\
[project]
name = "kinds"

[sources.readings]
uri = "lake/readings"
"""

FUNCTIONS = '''\
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline import aggregate, function, table_function, window

SCALE = 1


@aggregate("DOUBLE", "DOUBLE", returns="DOUBLE", required=1, aliases=["wmean"])
def weighted_mean(values: pa.Array, weights: pa.Array | None = None) -> float | None:
    """The mean of values, each with its weight; nulls have none."""
    pairs = zip(values.to_pylist(), weights.to_pylist() if weights else [1.0] * len(values))
    known = [(value, weight) for value, weight in pairs if value is not None and weight]
    total = sum(weight for _, weight in known)
    return SCALE * sum(value * weight for value, weight in known) / total if total else None


@aggregate("STRING", returns="STRING")
def joined(texts: pa.Array) -> str:
    """All texts in one."""
    return "".join("?" if text is None else text for text in texts.to_pylist())


@window("DOUBLE", returns="BIGINT")
def streak(values: pa.Array) -> int:
    """How many values at the end of the frame rise, one after the other."""
    frame = values.to_pylist()
    length = 0
    for before, after in zip(reversed(frame[:-1]), reversed(frame)):
        if before is None or after is None or not after > before:
            break
        length += 1
    return length * SCALE


@table_function("INT", "INT", returns="n INT, label STRING", required=1, aliases=["steps_to"])
def steps(last: int, first: int = 1) -> dict[str, pa.Array]:
    """The numbers up to one, with a label."""
    numbers = pa.array(range(first, last + SCALE), pa.int32())
    return {"n": numbers, "label": pc.cast(numbers, pa.string())}


@table_function(returns="name STRING, code INT")
def codes() -> pa.Table:
    """A constant table."""
    return pa.table({"code": [1, 2], "name": ["one", None]})


@function("BIGINT", "BIGINT", returns="BIGINT")
def less(a: pa.Array, b: pa.Array) -> pa.Array:
    """A difference."""
    return pc.subtract(a, b)
'''

VIEWS = {
    "grouped": """
        SELECT station, count(*) AS n, max(value) AS top,
               weighted_mean(value, weight) AS m,
               wmean(weights => weight, values => value) AS named,
               weighted_mean(at) AS plain,
               joined(note) FILTER (WHERE at > 2) AS notes
        FROM readings GROUP BY station HAVING weighted_mean(at) > 0
    """,
    "whole": "SELECT joined(note) AS notes, count(*) AS n, upper(joined(note)) AS up FROM readings",
    "empty": """
        SELECT joined(note) AS notes, weighted_mean(value) AS m FROM readings WHERE at < 0
        UNION ALL
        SELECT joined(note), weighted_mean(at) FROM readings WHERE at < 0 GROUP BY station
    """,
    "rising": """
        SELECT station, at, streak(value) OVER (PARTITION BY station ORDER BY at) AS s,
               streak(value) OVER (ORDER BY at DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS d,
               streak(value) OVER w AS named,
               joined(note) OVER (PARTITION BY station) AS notes,
               joined(note) OVER (ORDER BY at ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS before,
               row_number() OVER w AS r
        FROM readings WINDOW w AS (PARTITION BY station ORDER BY at)
    """,
    "stepped": """
        SELECT s.n, s.label, r.note, less(b => s.n, a => 10) AS rest
        FROM steps(4, first => 2) AS s LEFT JOIN readings r ON r.at = s.n
    """,
    "coded": """
        SELECT c.m, name, code, less('7', 1.0) AS rest
        FROM codes() JOIN steps_to('2') c(m, l) ON code = m WHERE m > 0
    """,
}
SPARK_ONLY = {
    "lateral": """
        SELECT r.at, s.n FROM readings r, LATERAL steps(CAST(r.at AS INT) % 3) s
        UNION ALL
        SELECT at, -n FROM readings LATERAL VIEW steps(CAST(at AS INT) % 3) s AS n, label
    """,
    "distinct": "SELECT joined(DISTINCT note) AS notes FROM readings",
}

READINGS = pa.table(
    {
        "station": ["a", "b", "a", "b", "a", None, "a", "b"],
        "at": pa.array(range(1, 9), pa.int64()),
        "value": [1.0, 2.5, 2.0, None, 3.5, -0.0, 0.1, float("inf")],
        "weight": [1.0, 1.0, 0.3, 2.0, None, 1.0, 0.7, 0.0],
        "note": ["x", "é", "", None, "x", "😀", "b", "a"],
    }
)


def write_kinds(
    root: Path, views: Mapping[str, str] = VIEWS, readings: pa.Table = READINGS
) -> Path:
    """Write the project, with a table for every view."""
    (root / "views").mkdir(parents=True)
    (root / "headrace.toml").write_text(MANIFEST)
    (root / "functions.py").write_text(FUNCTIONS)
    for name, sql in views.items():
        (root / "views" / f"{name}.sql").write_text(f"-- @materialise output\n{sql}\n")
    for part in (readings.slice(0, 3), readings.slice(3)):
        write_deltalake(root / "lake" / "readings", part, mode="append")
    return root
