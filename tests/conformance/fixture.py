"""The index of the fixture tables, and our additional expectations."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MANY_FILES = 100_000
"""From this size on, a table is compared in full only at its latest version."""


@dataclass(frozen=True, kw_only=True)
class Fixture:
    """One real table, and what a naive replay by others found in it."""

    name: str
    table: Path
    counts: dict[int, tuple[int, int]]
    live: list[tuple[str, str | None, int]] | None
    is_large: bool
    expected_rows: tuple[Path, ...]
    """Parquet files with the rows that a reader must return; empty if no rows are stored."""


def read_json(name: str) -> Any:
    """Read a file that is checked in with the tests."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def _fixtures() -> list[Fixture]:
    root = Path(os.environ["HEADRACE_TABLES"])
    return [
        Fixture(
            name=row["table"],
            table=root / row["table"],
            counts={at["v"]: (at["n"], at["bytes"]) for at in row["versions"]},
            live=row["live"] and [tuple(file) for file in row["live"]],
            is_large=int(row["live_files"] or 0) >= MANY_FILES,
            expected_rows=_expected_rows(root, row["expected_rows"]),
        )
        for row in json.loads((root / "index.json").read_text(encoding="utf-8"))
    ]


def _expected_rows(root: Path, folder: str) -> tuple[Path, ...]:
    """Return the rows stored for the latest version; hidden files are a writer's own."""
    stored = root / folder
    if not folder or not stored.is_dir():
        return ()
    latest = stored / "latest"
    files = sorted((latest if latest.is_dir() else stored).rglob("*.parquet"))
    return tuple(path for path in files if not path.name.startswith("."))


def fixture_params() -> list[Any]:
    """Return one test parameter per table, or a skipped one with the reason."""
    if not os.environ.get("HEADRACE_TABLES"):
        return [pytest.param(None, marks=pytest.mark.skip(reason="HEADRACE_TABLES is not set"))]
    return [pytest.param(fixture, id=fixture.name) for fixture in _fixtures()]
