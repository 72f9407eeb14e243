"""Statistics as the writers of Delta tables produce them, with truncation and quirks."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headrace.protocol.arrow_schema import arrow_type
from tests.expr.strategies import COLUMNS, to_single

_CUT = 32


@dataclass(frozen=True)
class Habits:
    """How one writer produces statistics."""

    strings: str = "spark"
    nan: str = "ignored"
    zone: timezone = UTC
    decimals: str = "exact"
    without: frozenset[tuple[str, str]] = frozenset()
    parsed: frozenset[tuple[str, str]] = frozenset()
    text: str = "whole"


_leaves = st.tuples(
    st.sampled_from(["minValues", "maxValues", "nullCount", "numRecords"]),
    st.sampled_from(list(COLUMNS)),
)
_zones = [UTC, timezone(timedelta(hours=-8)), timezone(timedelta(hours=5, minutes=30))]
_whole = st.builds(
    Habits,
    strings=st.sampled_from(["prefix", "spark", "whole"]),
    nan=st.sampled_from(["ignored", "largest", "absent"]),
    zone=st.sampled_from(_zones),
    decimals=st.sampled_from(["double", "exact"]),
)
habits = (
    _whole
    | _whole
    | st.builds(
        lambda how, without, parsed, text: replace(how, without=without, parsed=parsed, text=text),
        _whole,
        st.frozensets(_leaves, max_size=6),
        st.frozensets(_leaves, max_size=12),
        st.sampled_from(["whole", "absent", "cut"]),
    )
)


@dataclass
class WrittenFile:
    """A file in the log: its partition, and its statistics."""

    partition: dict[str, str | None]
    json: str | None
    parsed: dict[tuple[str, ...], Any] = field(default_factory=dict)


def write_file(
    physical: Sequence[dict[str, Any]], partition: str, how: Habits, *, wide: bool
) -> WrittenFile:
    """Return the log entry of a file with these rows, which share one partition value."""
    leaves: dict[tuple[str, ...], Any] = {("numRecords",): len(physical)}
    if wide:
        leaves["tightBounds",] = False
    for column in COLUMNS:
        if column == partition:
            continue
        values = [row[column] for row in physical if row[column] is not None]
        leaves["nullCount", column] = len(physical) - len(values)
        low, high = _extremes(column, values, how)
        leaves["minValues", column], leaves["maxValues", column] = low, high
    written_leaves = {
        k: v for k, v in leaves.items() if (k[0], k[-1]) not in how.without and v is not None
    }
    text = json.dumps(_nested({leaf: _json(leaf, v, how) for leaf, v in written_leaves.items()}))
    # json.dumps would round long decimals, so they were inserted as marked strings.
    text = text.replace('"#', "").replace('#"', "")
    return WrittenFile(
        partition={partition: partition_text(physical[0][partition]) if physical else None},
        json={"whole": text, "absent": None, "cut": text[: len(text) // 2]}[how.text],
        parsed={
            k: v
            for k, v in written_leaves.items()
            if (k[0], k[-1]) in how.parsed or k == ("numRecords",)
        },
    )


def partition_text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case datetime() if value.tzinfo is not None:
            return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case _:
            return str(value)


def _extremes(column: str, values: list[Any], how: Habits) -> tuple[Any, Any]:
    if column == "flag" or not values:
        return None, None
    if column in ("single", "real"):
        numbers = [v for v in values if not math.isnan(v)]
        if len(numbers) < len(values):
            if how.nan == "absent" or not numbers:
                return None, None
            if how.nan == "largest":
                return min(numbers), float("nan")
        return min(numbers), max(numbers)
    if column == "text":
        ordered = sorted(values, key=str.encode)
        return _cut_low(ordered[0], how), _cut_high(ordered[-1], how)
    if column in ("at", "wall"):
        return _cut_time(min(values)), _cut_time(max(values))
    if column in ("money", "wei") and how.decimals == "double":
        return Decimal(repr(float(min(values)))), Decimal(repr(float(max(values))))
    return min(values), max(values)


def _cut_low(text: str, how: Habits) -> str:
    return text if how.strings == "whole" else text[:_CUT]


def _cut_high(text: str, how: Habits) -> str:
    if how.strings == "whole" or len(text) <= _CUT:
        return text
    if how.strings == "prefix":
        return text[:_CUT]
    for end in range(_CUT, len(text)):
        tie = "\x7f" if text[end] < "\x7f" else "\U0010ffff"
        if text[end] != "\U0010ffff" or tie != "\U0010ffff":
            return text[:end] + tie
    return text


def _cut_time(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _json(leaf: tuple[str, ...], value: Any, how: Habits) -> Any:
    match value:
        case datetime() if value.tzinfo is not None:
            return (
                value.astimezone(how.zone).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            )
        case datetime():
            return value.isoformat(timespec="milliseconds")
        case date():
            return value.isoformat()
        case Decimal():
            return f"#{value}#"
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float() if leaf[-1] == "single":
            return _shortest_single(value)
        case _:
            return value


def _shortest_single(value: float) -> float:
    """Return the value of the shortest text that round-trips to the float, as Java writes it."""
    return next(
        float(f"{value:.{digits}g}")
        for digits in range(1, 18)
        if to_single(float(f"{value:.{digits}g}")) == value
    )


def _nested(leaves: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for leaf, value in leaves.items():
        level = tree
        for name in leaf[:-1]:
            level = level.setdefault(name, {})
        level[leaf[-1]] = value
    return tree


@dataclass
class WrittenFiles:
    """Log entries, as file skipping sees them."""

    files: Sequence[WrittenFile]

    def __len__(self) -> int:
        return len(self.files)

    def partition_text(self, physical_name: str) -> pa.StringArray:
        return pa.array([f.partition.get(physical_name) for f in self.files], pa.string())

    def stats_json(self) -> pa.StringArray | None:
        return pa.array([f.json for f in self.files], pa.string())

    def stats_parsed(self, path: tuple[str, ...]) -> pa.Array | None:
        if not any(path in f.parsed for f in self.files):
            return None
        kind = pa.int64()
        if path[0] in ("minValues", "maxValues"):
            kind = arrow_type(COLUMNS[path[-1]])
        fitting = [_fitting(f.parsed.get(path), kind) for f in self.files]
        return pa.array(fitting, kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except pa.ArrowInvalid:  # a decimal that grew when converted through a double
        return None
    return value
