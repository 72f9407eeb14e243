"""A synced state prunes by partition values of every type as the log does, also by odd ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.maintain.setting import StateSettings
from tests.effort import examples
from tests.lake.action import Line, add, metadata, protocol, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import History, state_at, write_commit

NUMBERS = ("0", "-0", "1", "2", "10", "9", "-1", "127", "128", "+3", " 4", "007", "1e3", "1.0")
FRACTIONS = (*NUMBERS, "-0.0", "0.0", "NaN", "nan", "Infinity", "-Infinity", "1e400", "1.5", ".5")
DAYS = (
    *("2024-01-01", "2024-9-1", "2024-10-1", "0001-01-01", "9999-12-31"),
    *("10000-01-01", "-0001-01-01", "2024-02-30"),
)
TIMES = (
    *DAYS,
    *("2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00.000001"),
    *("2024-01-01 02:00:00+02:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999"),
    *("9999-12-31 23:59:59.999999-18:00", "0001-01-01 00:00:00+18:00", "2024-01-01 24:00:00"),
    "294247-01-10 04:00:54.775807",
)
TEXTS_AND_CONSTANTS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "byte": (NUMBERS, ("0", "1", "-1", "9")),
    "long": (
        (*NUMBERS, "9223372036854775807", "9223372036854775808"),
        ("0", "9", "10", "9223372036854775807"),
    ),
    "float": ((*FRACTIONS, "0.1", "16777217"), ("0", "1.5", "16777216", "-1")),
    "double": (FRACTIONS, ("0.0", "-0.0", "1.5", "1e3", "double('NaN')", "double('Infinity')")),
    "decimal(10,2)": (
        (*FRACTIONS, "1.005", "99999999.99", "100000000"),
        ("0", "1.5", "1.0", "99999999.99"),
    ),
    "decimal(38,0)": (("9" * 38, "-" + "9" * 38, "1" + "0" * 38, *NUMBERS), ("0", "9" * 38, "10")),
    "date": (DAYS, ("date '2024-01-01'", "date '2024-09-01'", "date '9999-12-31'")),
    "timestamp": (TIMES, ("timestamp '2024-01-01 00:00:00'", "timestamp '9999-12-31 23:59:59'")),
    "timestamp_ntz": (TIMES, ("timestamp_ntz '2024-01-01 00:00:00'",)),
    "boolean": (("true", "false", "TRUE", "t", "1", "yes"), ("true", "false")),
    "string": (
        ("a", "b", "ab", "B", "é", "z\u0301", "\U0001f600", "\uffff", "%41", "'", "10", "9"),
        ("'a'", "'b'", "'\uffff'", "'%41'", "'10'"),
    ),
    "binary": (("a", "b", "\x00", "é"), ("X'61'",)),
}
"""For each type, the texts that a log may have, and constants to compare with."""
OPERATORS = ("=", "<", "<=", ">", ">=", "<>", "<=>")
OTHERS = ("", " OR q = 1", " AND q IS NULL", " AND q < 2", " OR p IS NULL")


def opening(kind: str, *, is_mapped: bool) -> list[Line]:
    """Return the definition of a table; if mapped, each column has the other's physical name."""
    opened = metadata(
        columns={"id": "long", "p": kind, "q": "integer"},
        partition_columns=("p", "q"),
        properties={"delta.columnMapping.mode": "name"} if is_mapped else {},
    )
    if is_mapped:
        schema = json.loads(opened["metaData"]["schemaString"])
        for number, field in enumerate(schema["fields"], start=1):
            field["metadata"] = {
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": {"p": "q", "q": "p"}.get(field["name"], "x"),
            }
        opened["metaData"]["schemaString"] = json.dumps(schema)
    features = ("columnMapping", "timestampNtz") if is_mapped else ("timestampNtz",)
    return [protocol(features=features), opened]


@st.composite
def histories(draw: st.DrawFn, kind: str) -> History:
    is_mapped = draw(st.booleans())
    texts = st.sampled_from([None, "", *TEXTS_AND_CONSTANTS[kind][0]])
    numbers = st.sampled_from([None, "", "1", "2", "x"])
    names = ("q", "p") if is_mapped else ("p", "q")
    lines = [
        add(f"f{n}", size=n, partition_values=dict(zip(names, values, strict=True)))
        for n, values in enumerate(draw(st.lists(st.tuples(texts, numbers), min_size=1)))
    ]
    cuts = sorted(draw(st.lists(st.integers(0, len(lines)), max_size=3)))
    commits = [lines[start:stop] for start, stop in zip([0, *cuts], [*cuts, None], strict=True)]
    removed = draw(st.sets(st.integers(0, len(lines) - 1), max_size=3))
    return [opening(kind, is_mapped=is_mapped), *commits, *([remove(f"f{n}")] for n in removed)]


def answer(table: Path, where: str | None, *, state: str | None) -> Any:
    """Return the files, or the error."""
    opened = headrace.Table(table, reporter=lambda _: None, state=state)
    try:
        files = list(opened.snapshot().scan(where))
    except headrace.HeadraceError as error:
        return type(error), str(error)
    return sorted((file.path, sorted(file.partition_values.items())) for file in files)


@pytest.mark.property
@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(list(TEXTS_AND_CONSTANTS)), st.data())
def test_a_synced_state_prunes_as_the_log_does(kind: str, data: st.DataObject) -> None:
    history = data.draw(histories(kind))
    options = StateSettings(
        entries_per_block=data.draw(st.integers(1, 3)),
        entries_per_manifest=data.draw(st.integers(1, 5)),
        tombstone_threshold=data.draw(st.sampled_from([0.1, 10.0])),
        max_manifests=data.draw(st.integers(1, 3)),
    )
    operators = st.sampled_from(OPERATORS)
    constants, others = st.sampled_from(TEXTS_AND_CONSTANTS[kind][1]), st.sampled_from(OTHERS)
    conditions = st.builds(lambda o, c, more: f"p {o} {c}{more}", operators, constants, others)
    with TemporaryDirectory() as folder:
        table, first = Path(folder), 0
        while first < len(history):
            last = data.draw(st.integers(first, len(history) - 1))
            for version in range(first, last + 1):
                write_commit(table, version, history[version])
            if data.draw(st.booleans()):
                shape = Shape(form=data.draw(st.sampled_from(Form)))
                write_checkpoint(table, last, state_at(history, last), shape)
            keeper = headrace.Table(table).state.with_settings(options)
            keeper.sync()
            if data.draw(st.booleans()):
                keeper.compact()
            first = last + 1
        assert keeper.verify().is_sound
        drawn = data.draw(st.lists(conditions, min_size=2, max_size=4))
        for where in (None, "p IS NULL", *drawn, *(f"NOT ({one})" for one in drawn[:1])):
            assert answer(table, where, state=None) == answer(table, where, state="")
