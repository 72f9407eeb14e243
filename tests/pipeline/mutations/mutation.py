"""A change to a project or its lake, the hashes that it must change, and helpers to make it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline import CauseKind
from tests.pipeline import log_edit as log
from tests.pipeline.shop import (
    edit,
)

SAME, OTHER, NONE = "same", "other", "none"
"""The effect on a hash; a view that must always run has no key."""

Change = Callable[[Path], None]


def nothing(_: Path) -> None:
    """Change nothing; only time passes."""


@dataclass(frozen=True)
class Mutation:
    """One change to the project or its lake, and its expected effect on a view."""

    name: str
    change: Change
    plan: str
    key: str
    bundle: str
    cause: tuple[CauseKind, str] | None = None
    """The kind of cause that is reported, and part of its text."""
    view: str = "revenue"
    before: Change = nothing
    """Prepares the project for the change."""
    profile: str = "default"
    """The profile that is planned after the change."""


K = CauseKind


def edit_sql(old: str, new: str) -> Change:
    return lambda root: edit(root / "views" / "revenue.sql", old, new)


def edit_function(old: str, new: str) -> Change:
    return lambda root: edit(root / "functions.py", old, new)


def edit_manifest(old: str, new: str) -> Change:
    return lambda root: edit(root / "headrace.toml", old, new)


def rename_alias(root: Path) -> None:
    edit_sql(" orders o\n", " orders ord\n")(root)
    edit_sql("o.", "ord.")(root)


def change_table(change: Callable[..., None], *arguments: object, table: str = "orders") -> Change:
    return lambda root: change(root / "lake" / table, *arguments)


def change_schema(
    change: Callable[[list[log.Field]], list[log.Field]], table: str = "weather"
) -> Change:
    return change_table(log.change_schema, change, table=table)


def add_view(sql: str) -> Change:
    return lambda root: write_text(root / "views" / "v.sql", f"-- @materialise output\n{sql}\n")


def write_text(file: Path, text: str) -> None:
    file.write_text(text)


def in_turn(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def move_orders(root: Path) -> None:
    (root / "lake" / "orders").rename(root / "lake" / "sales")


def map_weather(root: Path) -> None:
    log.map_columns(root / "lake" / "weather")


def add_parquet_source(sql: str = "SELECT a, b FROM p") -> Change:
    """Add a source of two Parquet files, and a view over it."""

    def prepare(root: Path) -> None:
        with (root / "headrace.toml").open("a") as manifest:
            manifest.write('\n[sources.p]\nkind = "parquet"\nuri = "files"\n')
            manifest.write('schema = "a BIGINT, b BIGINT"\n')
        (root / "files").mkdir()
        write_parquet_file(root, "low.parquet", [1, 2])
        write_parquet_file(root, "high.parquet", [11, 12])
        add_view(sql)(root)

    return prepare


def write_parquet_file(root: Path, name: str, values: list[int]) -> None:
    pq.write_table(
        pa.table({"a": values, "b": [-value for value in values]}), root / "files" / name
    )


def write_parquet(name: str, values: list[int]) -> Change:
    return lambda root: write_parquet_file(root, name, values)


def touch_parquet(root: Path) -> None:
    os.utime(root / "files" / "low.parquet", ns=(1, 1))


def copy_parquet(root: Path) -> None:
    """Replace the files by copies with the same bytes, as in a copy of the project."""
    shutil.copytree(root / "files", root / "copied")
    shutil.rmtree(root / "files")
    (root / "copied").rename(root / "files")


def flip_parquet(root: Path) -> None:
    """Change the values in a file, but not its size and time."""
    file = root / "files" / "low.parquet"
    status = file.stat()
    size = status.st_size
    write_parquet_file(root, "low.parquet", [2, 1])
    assert file.stat().st_size == size
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def rename_parquet(root: Path) -> None:
    (root / "files" / "low.parquet").rename(root / "files" / "lowest.parquet")


def set_spark(name: str, value: str) -> Change:
    return edit_manifest(
        "[settings]", f'[profiles.tuned.spark]\n"{name}" = "{value}"\n\n[settings]'
    )


def add_days(root: Path) -> None:
    """Add a view in which `day` is a date."""
    text = "SELECT CAST('2024-01-01' AS DATE) AS day, degrees FROM weather\n"
    write_text(root / "views" / "days.sql", text)
