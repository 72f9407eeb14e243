"""A project to render as a page; its sources are optional and missing, so it needs no lake."""

from collections.abc import Mapping
from pathlib import Path

MANIFEST = """
[project]
name = "shop"
description = "What a shop sells."

[sources.orders]
uri = "lake/orders"
optional = true
schema = "id BIGINT, customer BIGINT, amount DECIMAL(18,2), day DATE"

[sources.customers]
uri = "lake/customers"
optional = true
schema = "id BIGINT, name STRING"
"""
VIEWS = {
    "sales": """-- @description What was sold, by customer.
-- @materialise output
-- @contract ADDITIVE (customer BIGINT, total DECIMAL(28,2))
SELECT customer, sum(amount) AS total FROM orders GROUP BY customer
""",
    "best": """-- @description The names of those who buy.
SELECT c.name, s.total FROM sales AS s JOIN customers AS c ON c.id = s.customer
""",
}


def write_project(root: Path, views: Mapping[str, str] = VIEWS) -> Path:
    """Write a project folder with the given views."""
    (root / "views").mkdir(parents=True)
    (root / "headrace.toml").write_text(MANIFEST)
    for name, sql in views.items():
        (root / "views" / f"{name}.sql").write_text(sql)
    return root
