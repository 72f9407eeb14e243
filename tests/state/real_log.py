"""The real IndexTables logs, read by fastavro and the standard library alone."""

import gzip
import json
from pathlib import Path
from typing import Any

import fastavro

NAMES = (
    "01_single_write",
    "02_five_appends",
    "03_with_removes",
    "04_partitioned",
    "06_schema_dedup",
    "08_ten_writes_at_checkpoint",
    "09_partitioned_multi_append",
    "11_mixed_operations",
    "12_partition_drop",
    "13_after_purge",
    "16_with_skip_actions",
)


def records(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def state_of(table: Path, version: int) -> Any:
    return records(table / f"_transaction_log/state-v{version:020}/_manifest.avro")[0]


def versions_of(table: Path) -> list[int]:
    folders = (table / "_transaction_log").glob("state-v*")
    return sorted(int(folder.name.removeprefix("state-v")) for folder in folders)


def entries_of(table: Path, version: int) -> dict[str, Any]:
    state = state_of(table, version)
    return {
        entry["path"]: entry
        for info in state["manifests"]
        for entry in records(table / "_transaction_log" / info["path"])
        if entry["path"] not in state["tombstones"]
    }


def first_lines(table: Path) -> dict[str, Any]:
    raw = (table / "_transaction_log/00000000000000000000.json").read_bytes()
    lines = gzip.decompress(raw.removeprefix(b"\x01\x01")).splitlines()
    return {name: action for line in lines for name, action in json.loads(line).items()}
