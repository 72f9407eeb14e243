"""Time zones: the rules shipped with the package are those of the Java that runs Spark."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.pipeline.translation.zone import find_zone, zone_names

_MIN, _MAX = -9_223_372_036_854, 9_223_372_036_854
"""The range of a TIMESTAMP, in seconds."""


def moments_of(name: str, chance: random.Random) -> list[int]:
    """Return seconds around a zone's transitions, in UTC and local time, and some far away."""
    zone = find_zone(name)
    assert zone is not None
    changes = zone.moments.tolist()
    near = chance.sample(changes, min(len(changes), 6)) + changes[:2] + changes[-1:]
    local = [moment + chance.choice(zone.offsets.tolist()) for moment in near]
    edges = [moment + step for moment in (*near, *local) for step in (-1, 0)]
    return [*edges, *(chance.randint(_MIN + 90_000, _MAX - 90_000) for _ in range(2))]


@pytest.fixture(scope="module")
def questions() -> pa.Table:
    chance = random.Random(17)
    rows = [(name, moment) for name in zone_names() for moment in moments_of(name, chance)]
    names, moments = zip(*rows, strict=True)
    micros = pa.array(np.array(moments) * 1_000_000)
    return pa.table({"zone": list(names), "us": micros})


def test_every_zone_has_javas_offsets_around_every_transition(
    spark: Any, questions: pa.Table
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.createDataFrame(questions).createOrReplaceTempView("questions")
    answers = session.sql(
        "SELECT zone, us, unix_micros(from_utc_timestamp(timestamp_micros(us), zone)) AS local,"
        " unix_micros(to_utc_timestamp(timestamp_micros(us), zone)) AS instant FROM questions"
    ).toArrow()
    different = []
    for name in zone_names():
        zone = find_zone(name)
        assert zone is not None
        some = answers.filter(pa.compute.equal(answers["zone"], name))
        seconds = some["us"].to_numpy() // 1_000_000
        local = seconds + zone.offset_at(seconds)
        instant = zone.moment_of(seconds)
        different += [
            name
            for ours, theirs in ((local, "local"), (instant, "instant"))
            if (ours != some[theirs].to_numpy() // 1_000_000).any()
        ]
    assert different == []
    assert len(answers) > 10_000


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("+5:3", 18_180),
        ("-18:00", -64_800),
        ("UTC+1", 3600),
        ("GMT+01:30:15", 5415),
        ("EST", -18_000),
    ],
)
def test_an_offset_is_read_as_spark_reads_it(name: str, seconds: int) -> None:
    zone = find_zone(name)
    assert zone is not None
    assert zone.offset_at(np.array([0])).tolist() == [seconds]


@pytest.mark.parametrize(
    "name", ["", "z", "utc", "Nowhere", "+18:01", "+011", "UTC1", "GMT+", "+1:60"]
)
def test_an_invalid_zone_is_refused(name: str) -> None:
    assert find_zone(name) is None
