"""A small project over small Delta tables, in which tests change one thing at a time."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

ORDERS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("customer", pa.int64()),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("year", pa.int32()),
    ]
)

MANIFEST = """\
[project]
name = "shop"

[sources.orders]
uri = "lake/orders"

[sources.customers]
uri = "lake/customers"

[sources.weather]
uri = "lake/weather"

[sources.unread]
uri = "lake/unread"

[settings]
time_zone = "UTC"

[variables]
least = 10
other = "unused"
"""

FUNCTIONS = '''\
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline import function

FACTOR = 3


def scale(values):
    return pc.multiply(values, FACTOR)


@function("BIGINT", returns="BIGINT")
def points(ids: pa.Array) -> pa.Array:
    """Points of a customer."""
    return pc.add(scale(ids), 1)


@function("STRING", returns="STRING")
def unrelated(texts):
    return pc.utf8_upper(texts)
'''

REVENUE = """\
-- @description Revenue of each customer.
-- @materialise output
SELECT c.name AS name, max(points(c.id)) AS points, sum(o.amount) AS total
FROM orders o
JOIN customers c ON o.customer = c.id
WHERE o.year = 2024 AND o.amount >= :least
GROUP BY c.name
"""

TOP = """\
-- @materialise output
SELECT name, total FROM revenue WHERE total > 100
"""

FORECAST = """\
-- @materialise output
SELECT day, max(degrees) AS warmest FROM weather GROUP BY day
"""


def write_shop(root: Path) -> Path:
    """Write two years of orders, customers, and an unrelated table."""
    (root / "views").mkdir(parents=True)
    (root / "headrace.toml").write_text(MANIFEST)
    (root / "functions.py").write_text(FUNCTIONS)
    (root / "views" / "revenue.sql").write_text(REVENUE)
    (root / "views" / "top.sql").write_text(TOP)
    (root / "views" / "forecast.sql").write_text(FORECAST)
    append_orders(root, year=2023, count=20)
    append_orders(root, year=2024, count=20)
    customers = pa.table({"id": pa.array([0, 1, 2]), "name": ["Ada", "Ben", "Cid"]})
    write_deltalake(root / "lake" / "customers", customers)
    append_weather(root, day=1)
    append_unread(root)
    return root


def replace_views(root: Path, views: Mapping[str, str]) -> None:
    """Replace all views of a project by these, given as their texts by name."""
    folder = root / "views"
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, text in views.items():
        (folder / f"{name}.sql").write_text(text)


def append_orders(root: Path, *, year: int, count: int) -> None:
    rows = pa.table(
        {
            "id": pa.array(range(count)),
            "customer": pa.array([i % 3 for i in range(count)]),
            "amount": pa.array([Decimal(i * 7) for i in range(count)], pa.decimal128(12, 2)),
            "year": pa.array([year] * count, pa.int32()),
        },
        schema=ORDERS,
    )
    orders = root / "lake" / "orders"
    write_deltalake(orders, rows, mode="append", partition_by=["year"])


def append_weather(root: Path, *, day: int) -> None:
    rows = pa.table({"day": [day, day], "degrees": [3, 8]})
    write_deltalake(root / "lake" / "weather", rows, mode="append")


def append_unread(root: Path) -> None:
    write_deltalake(root / "lake" / "unread", pa.table({"a": [1]}), mode="append")


def compact_orders(root: Path) -> None:
    DeltaTable(root / "lake" / "orders").optimize.compact()


def delete_orders(root: Path, condition: str) -> None:
    DeltaTable(root / "lake" / "orders").delete(condition)


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text in a file, which must contain it."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
