"""Writes a new project: a small working example with sample tables.

The path of a folder enters; the files of a project that plans and runs as it is leave.
"""

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
_IGNORED = "# Results of runs, which can be made again.\n.headrace/\noutput/\nheadrace.html\n"


def write_project(folder: Path) -> list[Path]:
    """Write a new project into a folder, and return its files.

    Raises:
        InvalidArgumentError: the folder is a file, or has a project or a file that would be
            overwritten.
    """
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            reason = f"{place} is a file; name a folder"
            raise InvalidArgumentError(argument=str(folder), reason=reason)
    if (folder / MANIFEST).exists():
        reason = f"it already has a project ({folder / MANIFEST})"
        raise InvalidArgumentError(argument=str(folder), reason=reason)
    with as_file(files("headrace.pipeline.project").joinpath("template")) as template:
        sources = [file for file in sorted(template.rglob("*.*")) if file.suffix in _SUFFIXES]
        texts = {folder / file.relative_to(template): file.read_text("utf-8") for file in sources}
    texts[folder / ".gitignore"] = _IGNORED
    for file in (*texts, folder / "lake"):
        if file.exists():
            reason = f"{file} already exists and would be overwritten"
            raise InvalidArgumentError(argument=str(folder), reason=reason)
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    _write_lake(folder / "lake")
    return list(texts)


def _write_lake(lake: Path) -> None:
    """Write customers, and four days of orders with one commit per day."""
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
