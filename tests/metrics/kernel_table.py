"""The tables of `kernel_metrics.csv`, created if the fixture tables lack them.

Some differ from an existing table only in the format of the checkpoint. Others are so small that
their counts determine their contents.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.lake.action import add, commit_info, metadata, protocol, remove
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import commit_path, log_of, state_at, write_history, write_lines

_LIKE_IN_PARQUET = {
    "v2-checkpoints-json-with-sidecars": "v2-checkpoints-parquet-with-sidecars",
    "v2-checkpoints-json-without-sidecars": "v2-checkpoints-parquet-without-sidecars",
}

_ALIKE = {"v2-classic-checkpoint-parquet": "v2-classic-checkpoint-json"}
"""A checkpoint with a classic name is Parquet, whatever format its writer was asked for."""


def find_table(name: str, *, tables: Path, workspace: Path) -> Path | None:
    """Return the named table, or create it in the workspace; None if that is not possible."""
    name = name if (tables / name).exists() else _ALIKE.get(name, name)
    if (tables / name).exists():
        return tables / name
    like = _LIKE_IN_PARQUET.get(name)
    if like is not None and (tables / like).exists():
        return _with_json_checkpoint(tables / like, workspace / name)
    make = _SMALL.get(name)
    return None if make is None else make(workspace / name)


def manifest_rows(table: Path) -> int:
    """Return the number of rows in the newest checkpoint, if it has sidecars."""
    if not (log_of(table) / "_sidecars").exists():
        return 0
    return len(_rows(_newest_checkpoint(table)))


def _newest_checkpoint(table: Path) -> Path:
    return max(log_of(table).glob("[0-9]*.checkpoint.*"))


def _rows(checkpoint: Path) -> list[dict[str, Any]]:
    if checkpoint.suffix == ".json":
        return [json.loads(line) for line in checkpoint.read_text(encoding="utf-8").splitlines()]
    rows: list[dict[str, Any]] = pq.read_table(checkpoint).to_pylist(maps_as_pydicts="strict")
    return rows


def _with_json_checkpoint(source: Path, table: Path) -> Path:
    """Copy a log, with the newest checkpoint as JSON."""
    shutil.copytree(source, table)
    (log_of(table) / "_last_checkpoint").unlink(missing_ok=True)  # it refers to the other file
    checkpoint = _newest_checkpoint(table)
    write_lines(checkpoint.with_suffix(".json"), [_without_nulls(row) for row in _rows(checkpoint)])
    checkpoint.unlink()
    return table


def _without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }


def _partitioned(table: Path) -> Path:
    """Write six files in two commits; two of them are in the partition of one letter."""
    metadata_line = metadata(
        columns={"letter": "string", "n": "long"}, partition_columns=["letter"]
    )
    adds = [add(f"{i}", size=751, partition_values={"letter": x}) for i, x in enumerate("abcade")]
    history = [[commit_info(), protocol(), metadata_line, *adds[:3]], [commit_info(), *adds[3:]]]
    return write_history(table, history)


def _with_checkpoint(table: Path) -> Path:
    """Write one file in a checkpoint, which later commits replace by another."""
    history = [
        [protocol(), metadata(), add("a", size=1)],
        [commit_info(), remove("a")],
        [commit_info(), add("b", size=1010)],
    ]
    write_history(table, history)
    write_checkpoint(table, 0, state_at(history, 0))
    commit_path(table, 0).unlink()
    return table


_SMALL: dict[str, Callable[[Path], Path]] = {
    "basic_partitioned": _partitioned,
    "with_checkpoint_no_last_checkpoint": _with_checkpoint,
}
