"""Write a checkpoint of many row groups, and compare what scans of it count."""

from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from headrace.metrics.event import Event, LogReplayCompleted
from tests.lake.action import add, opening
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history

FILES = 40
NAMES = sorted(f"f{i}" for i in range(FILES))
SIDECARS = Shape(form=Form.V2_PARQUET, sidecars=3, row_group_rows=2)


def counted(events: list[Event]) -> list[dict[str, Any]]:
    ended = [event for event in events if isinstance(event, LogReplayCompleted)]
    return [asdict(event.counts) | {"keys": event.dedup_hashmap_size} for event in ended]


def write_large_checkpoint(table: Path, shape: Shape) -> list[Path]:
    """Write a checkpoint of forty files, and a later commit that replaces two of them."""
    history = [[*opening(), *(add(f"f{i}") for i in range(FILES))], [add("f1"), add("f2")]]
    write_history(table, history)
    paths = write_checkpoint(table, 0, state_at(history, 0), shape)
    commit_path(table, 0).unlink()
    return paths
