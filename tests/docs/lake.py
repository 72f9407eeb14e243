"""A table of the shape that `make demo` makes: what the guides speak of, without its data files."""

import json
from datetime import date, timedelta
from pathlib import Path

from examples.demo import CITIES, DAYS
from tests.lake.action import Line, add, metadata, protocol, remove
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import state_at, write_hint, write_history

COLUMNS = {"id": "long", "date": "date", "city": "string", "amount": "double"}
ROWS_A_DAY = 100


def write_demo_lake(folder: Path) -> Path:
    """Forty days in forty commits, a checkpoint among them, and one day deleted."""
    table = folder / "demo-lake" / "events"
    history: list[list[Line]] = [[_file(day, city) for city in CITIES] for day in range(DAYS)]
    history[0][:0] = [
        protocol(reader=1),
        metadata(columns=COLUMNS, partition_columns=("date", "city")),
    ]
    history.append([remove(_path(4, city)) for city in CITIES])
    write_history(table, history)
    write_checkpoint(table, DAYS // 2, state_at(history, DAYS // 2))
    write_hint(table, DAYS // 2)
    return table


def _day(number: int) -> str:
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()


def _path(day: int, city: str) -> str:
    return f"date={_day(day)}/city={city}/part-0.parquet"


def _file(day: int, city: str) -> Line:
    first, place = day * ROWS_A_DAY, CITIES.index(city)
    low, high = first + place, first + ROWS_A_DAY - len(CITIES) + place
    stats = {"numRecords": 25, "minValues": {"id": low}, "maxValues": {"id": high}}
    return add(
        _path(day, city),
        size=1000,
        partition_values={"date": _day(day), "city": city},
        stats=json.dumps({**stats, "nullCount": {"id": 0}}),
    )
