"""A table like the one that `make demo` creates, which the guides use."""

import json
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from examples.demo import CITIES, DAYS
from tests.lake.action import Line, add, commit_info, metadata, protocol, remove
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import state_at, write_hint, write_history

COLUMNS = {"id": "long", "date": "date", "city": "string", "amount": "double"}
ROWS_A_DAY = 100


def write_demo_lake(folder: Path) -> Path:
    """Write forty days in forty commits, with a checkpoint, and delete one day."""
    table = folder / "demo-lake" / "events"
    history: list[list[Line]] = [[_file(day, city) for city in CITIES] for day in range(DAYS)]
    history[0][:0] = [
        protocol(reader=1),
        metadata(columns=COLUMNS, partition_columns=("date", "city")),
    ]
    history.append([_removed(4, city) for city in CITIES])
    for commit in history:
        is_delete = "remove" in commit[0]
        commit.append(commit_info(operation="DELETE" if is_delete else "WRITE"))
    write_history(table, history)
    _write_rows(table)
    write_checkpoint(table, DAYS // 2, state_at(history, DAYS // 2))
    write_hint(table, DAYS // 2)
    return table


def _write_rows(table: Path) -> None:
    for day in range(DAYS):
        for place, city in enumerate(CITIES):
            numbers = range(place, ROWS_A_DAY, len(CITIES))
            rows = {
                "id": [day * ROWS_A_DAY + number for number in numbers],
                "amount": [float(number) for number in numbers],
            }
            path = table / _path(day, city)
            path.parent.mkdir(parents=True)
            pq.write_table(pa.table(rows), path)


def _day(number: int) -> str:
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()


def _path(day: int, city: str) -> str:
    return f"date={_day(day)}/city={city}/part-0.parquet"


def _removed(day: int, city: str) -> Line:
    line = remove(_path(day, city))
    line["remove"]["partitionValues"] = {"date": _day(day), "city": city}
    return line


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
