"""What functions of each kind must return, in plain Python over lists of rows.

It shares no code with Headrace or with the functions of `tests.pipeline.kinds`.
"""

import math
import random
from collections import defaultdict
from typing import Any

import pyarrow as pa

Row = dict[str, Any]


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def weighted(pairs: list[tuple[float | None, float | None]]) -> float | None:
    known = [(v, w) for v, w in pairs if v is not None and w]
    ordered = sorted(known, key=lambda pair: (pair[0], math.copysign(1, pair[0]), pair[1]))
    total = sum(w for _, w in ordered)
    return sum(v * w for v, w in ordered) / total if total else None


def joined(texts: list[str | None]) -> str:
    missing = ["?"] * texts.count(None)
    return "".join([*missing, *sorted(t for t in texts if t is not None)])


def streak(values: list[float | None]) -> int:
    length = 0
    while length + 1 < len(values):
        before, after = values[-length - 2], values[-length - 1]
        if before is None or after is None or not after > before:
            break
        length += 1
    return length


def expected_groups(readings: list[Row]) -> list[Row]:
    groups = defaultdict(list)
    for row in readings:
        groups[row["station"]].append(row)
    return in_order(
        [
            {
                "station": station,
                "m": weighted([(r["value"], r["weight"]) for r in group]),
                "notes": joined([r["note"] for r in group]),
                "late": joined([r["note"] for r in group if r["at"] > 2]),
                "n": len(group),
            }
            for station, group in groups.items()
        ]
    )


def expected_frames(readings: list[Row]) -> list[Row]:
    frames = []
    for row in readings:
        own = [r for r in readings if r["station"] == row["station"]]
        own.sort(key=lambda r: r["at"])
        place = own.index(row)
        frames.append(
            {
                "at": row["at"],
                "up": streak([r["value"] for r in own[: place + 1]]),
                "last": streak([r["value"] for r in own[max(0, place - 2) : place + 1]]),
                "notes": joined([r["note"] for r in own]),
                "ahead": joined([r["note"] for r in own[place + 1 : place + 3]]),
            }
        )
    return in_order(frames)


JUDGED = {
    "groups": """
        SELECT station, weighted_mean(value, weight) AS m, joined(note) AS notes,
               joined(note) FILTER (WHERE at > 2) AS late, count(*) AS n
        FROM readings GROUP BY station
    """,
    "frames": """
        SELECT at, streak(value) OVER (PARTITION BY station ORDER BY at) AS up,
               streak(value) OVER (
                   PARTITION BY station ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
               ) AS last,
               joined(note) OVER (PARTITION BY station) AS notes,
               joined(note) OVER (
                   PARTITION BY station ORDER BY at ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING
               ) AS ahead
        FROM readings
    """,
}


def random_readings(seed: int, count: int) -> pa.Table:
    """Return groups of all sizes, with nulls, both zeros, infinities and other alphabets."""
    chance = random.Random(seed)
    numbers = [None, 0.0, -0.0, 0.1, 1e16, -3.5, float("inf"), *(chance.random() for _ in range(9))]
    texts = [None, "", "a", "ß", "é", "e\u0301", "😀", "zz"]
    weights = [None, 0.0, *(chance.random() for _ in range(9))]
    stations = [None, *(f"s{n}" for n in range(count // 12))]
    return pa.table(
        {
            "station": [chance.choice(stations) for _ in range(count)],
            "at": pa.array(chance.sample(range(count), count), pa.int64()),
            "value": pa.array([chance.choice(numbers) for _ in range(count)], pa.float64()),
            "weight": pa.array([chance.choice(weights) for _ in range(count)], pa.float64()),
            "note": [chance.choice(texts) for _ in range(count)],
        }
    )
