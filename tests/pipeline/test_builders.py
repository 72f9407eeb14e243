"""Views built in Python: what is known of them with and without a Spark session."""

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import InvalidViewError
from headrace.pipeline import Project
from headrace.pipeline.runners.spark.analyst import SparkAnalyst
from tests.pipeline.shop import edit, write_shop

BUILDER = '''\
from headrace.pipeline import view

LEAST = 5


@view(materialise="output")
def large(spark):
    """Customers with large orders."""
    orders, customers = spark.table("orders"), spark.table("customers")
    kept = orders.filter(orders.amount > LEAST)
    return kept.join(customers, kept.customer == customers.id).select("name", "amount")
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_shop(tmp_path / "shop")
    (root / "views" / "large.py").write_text(BUILDER)
    (root / "views" / "largest.sql").write_text("SELECT max(amount) AS most FROM large")
    return root


def test_without_a_session_a_builder_is_not_planned_and_reads_all_named_relations(
    shop: Path,
) -> None:
    bundle = Project.load(shop).plan()
    view = bundle["large"]
    assert "no Spark session" in str(view.unplanned)
    assert view.reads == ("customers", "orders")
    assert view.unit("orders").columns == ("id", "customer", "amount", "year")
    assert view.header.description == "Customers with large orders."
    assert "known only after" in str(bundle["largest"].unplanned)
    assert view.skip_key is not None


def test_spark_analyses_what_a_builder_reads_and_returns(shop: Path, spark: Any) -> None:
    project = Project.load(shop)
    bundle = project.plan(builders=SparkAnalyst(spark))
    view = bundle["large"]
    assert view.schema == "name STRING, amount DECIMAL(12,2)"
    assert view.unit("orders").columns == ("customer", "amount")
    assert view.unit("customers").columns == ("id", "name")
    assert bundle["largest"].schema == "most DECIMAL(12,2)"
    again = project.plan(builders=SparkAnalyst(spark))
    assert again.id == bundle.id


def test_sparks_analysis_is_kept_until_something_changes(shop: Path, spark: Any) -> None:
    analysed = Project.load(shop).plan(builders=SparkAnalyst(spark))
    remembered = Project.load(shop).plan(previous=analysed.views)
    assert remembered.id == analysed.id
    edit(shop / "views" / "large.py", "LEAST = 5", "LEAST = 6")
    changed = Project.load(shop).plan(previous=analysed.views)
    assert changed["large"].builder is None
    assert changed["large"].key.functions["large"].helpers != (
        analysed["large"].key.functions["large"].helpers
    )


def test_a_builder_that_fails_is_named(shop: Path, spark: Any) -> None:
    edit(shop / "views" / "large.py", '"name", "amount"', '"nme", "amount"')
    with pytest.raises(InvalidViewError, match=r"views/large\.py: it cannot be built"):
        Project.load(shop).plan(builders=SparkAnalyst(spark))


def test_a_file_that_cannot_be_imported_is_named(shop: Path) -> None:
    edit(shop / "views" / "large.py", "LEAST = 5", "LEAST = 5 / 0")
    with pytest.raises(InvalidViewError, match="it cannot be imported: ZeroDivisionError"):
        Project.load(shop)
