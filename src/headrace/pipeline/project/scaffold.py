"""A new project: a small one that works, with small tables to work on."""

from datetime import date, timedelta
from decimal import Decimal
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree, ignore_patterns

import pyarrow as pa
from deltalake import write_deltalake

from headrace.errors import InvalidArgumentError
from headrace.pipeline.project.manifest import MANIFEST

_CITIES = ("Bern", " basel ", "ZURICH", None)
_DAYS = 4
_ORDERS_A_DAY = 25
_FIRST_DAY = date(2026, 1, 1)


def write_project(folder: Path) -> list[Path]:
    """Write a project into a folder that has none, and tell its files.

    Raises:
        InvalidArgumentError: there is one already.
    """
    if (folder / MANIFEST).exists():
        reason = f"there is a project in it already ({folder / MANIFEST})"
        raise InvalidArgumentError(argument=str(folder), reason=reason)
    with as_file(files("headrace.pipeline.project").joinpath("template")) as template:
        copytree(
            template, folder, dirs_exist_ok=True, ignore=ignore_patterns("__pycache__", "*.pyc")
        )
        written = [folder / file.relative_to(template) for file in sorted(template.rglob("*.*"))]
    _write_lake(folder / "lake")
    return [file for file in written if file.is_file()]


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
