"""A new project: a small one that works, with small tables to work on."""

from datetime import date, timedelta
from decimal import Decimal
from importlib.resources import as_file, files
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from headrace.errors import InvalidArgumentError
from headrace.pipeline.project.manifest import MANIFEST

_CITIES = ("Bern", " basel ", "ZURICH", None)
_DAYS = 4
_ORDERS_A_DAY = 25
_FIRST_DAY = date(2026, 1, 1)
_SUFFIXES = frozenset({".py", ".sql", ".toml"})
_IGNORED = "# What runs leave behind: it can be made again.\n.headrace/\noutput/\nheadrace.html\n"


def write_project(folder: Path) -> list[Path]:
    """Write a project into a folder that has none, and tell its files.

    Raises:
        InvalidArgumentError: there is one already, or a file that would be overwritten.
    """
    if (folder / MANIFEST).exists():
        reason = f"there is a project in it already ({folder / MANIFEST})"
        raise InvalidArgumentError(argument=str(folder), reason=reason)
    with as_file(files("headrace.pipeline.project").joinpath("template")) as template:
        found = [file for file in sorted(template.rglob("*.*")) if file.suffix in _SUFFIXES]
        texts = {folder / file.relative_to(template): file.read_text("utf-8") for file in found}
    texts[folder / ".gitignore"] = _IGNORED
    for file in (*texts, folder / "lake"):
        if file.exists():
            reason = f"{file} is there already, and would be overwritten"
            raise InvalidArgumentError(argument=str(folder), reason=reason)
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _write_lake(folder / "lake")
    return list(texts)


def _write_lake(lake: Path) -> None:
    """Four days of orders, each its own commit, and their customers."""
    customers = pa.table({"id": pa.array(range(len(_CITIES))), "city": pa.array(_CITIES)})
    write_deltalake(lake / "customers", customers)
    for number in range(_DAYS):
        write_deltalake(lake / "orders", _orders(number), mode="append", partition_by=["day"])


def _orders(number: int) -> pa.Table:
    ids = range(number * _ORDERS_A_DAY, (number + 1) * _ORDERS_A_DAY)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array([i % len(_CITIES) for i in ids], pa.int64()),
            "amount": pa.array([Decimal(i * 7 % 150) for i in ids], pa.decimal128(12, 2)),
            "day": pa.array([_FIRST_DAY + timedelta(days=number)] * _ORDERS_A_DAY),
        }
    )
