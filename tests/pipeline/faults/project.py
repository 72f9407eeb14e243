"""A project with views in every write mode, and checks of its tables after a fault."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace import Table
from tests.pipeline.shop import append_orders, append_weather, replace_views, write_shop

VIEWS = {
    "log": (
        "-- @materialise output\n-- @write append\n-- @append all\n"
        "SELECT day, degrees FROM weather\n"
    ),
    "latest": (
        "-- @materialise output\n-- @write merge\n-- @keys day\n-- @change_feed true\n"
        "SELECT day, max(degrees) AS warmest FROM weather GROUP BY day\n"
    ),
    "by_year": (
        "-- @materialise output\n-- @write overwrite_partitions\n-- @partition_by year\n"
        "SELECT id, amount, year FROM orders WHERE year >= 2023\n"
    ),
    "kept": "-- @materialise staging\nSELECT id, amount FROM orders\n",
    "total": "-- @materialise output\nSELECT sum(amount) AS total FROM kept\n",
}
FOREIGN = ("foreign.parquet", "_change_data/foreign.parquet")


def write_project(root: Path) -> Path:
    write_shop(root)
    replace_views(root, VIEWS)
    return root


def grow(root: Path, step: int) -> None:
    append_weather(root, day=step)
    append_orders(root, year=2024, count=step)


def add_foreign_files(root: Path) -> None:
    """Add uncommitted files of other writers."""
    for table in (root / "output").iterdir():
        for name in FOREIGN:
            (table / name).parent.mkdir(exist_ok=True)
            pq.write_table(pa.table({"x": [1]}), table / name)


def tables(root: Path) -> dict[str, list[str]]:
    """Return the rows of all outputs, which reads every committed file."""
    return {
        folder.name: sorted(map(repr, Table(folder).snapshot().rows().read_all().to_pylist()))
        for folder in sorted((root / "output").iterdir())
    }


def versions(root: Path) -> dict[str, int]:
    return {folder.name: Table(folder).snapshot().version for folder in (root / "output").iterdir()}


def age_intents(root: Path) -> None:
    """Make intents of dead runs old enough for the next run to discard them."""
    for file in (root / ".headrace" / "intents").glob("*.json"):
        intent = msgspec.json.decode(file.read_bytes())
        file.write_bytes(msgspec.json.encode({**intent, "found_dead_ms": 0}))


def wrong_files(root: Path) -> list[str]:
    """Return missing committed files, deleted foreign files, orphans and open intents."""
    wrong = []
    for folder in (root / "output").iterdir():
        committed = {Path(change.uri) for change in Table(folder).changes(0)}
        foreign = {folder / name for name in FOREIGN}
        existing = {f for f in folder.rglob("*.parquet") if "_delta_log" not in f.parts}
        wrong += [f"missing: {file}" for file in sorted(committed - existing)]
        wrong += [f"foreign file gone: {file}" for file in sorted(foreign - existing)]
        wrong += [f"orphan: {file}" for file in sorted(existing - committed - foreign)]
    wrong += [f"open intent: {file}" for file in (root / ".headrace" / "intents").glob("*")]
    return wrong
