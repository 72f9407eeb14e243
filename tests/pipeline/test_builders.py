"""Views built in Python: what is known of them with and without a Spark session."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.mark.parametrize(
    ("rows", "customers"),
    [
        ("orders.filter('customer IN (SELECT id FROM customers)')", ("id",)),
        ("orders.filter(orders.amount > spark.table('customers').count())", ("id", "name")),
        ("orders.localCheckpoint()", ()),
    ],
    ids=["in a subquery", "while building", "before a checkpoint"],
)
def test_a_builder_reads_what_its_plan_does_not_show(
    rows: str, customers: tuple[str, ...], shop: Path, spark: Any
) -> None:
    reads = ["orders", "customers"] if customers else ["orders"]
    (shop / "views" / "large.py").write_text(
        "from headrace.pipeline import view\n"
        f"@view(materialise='output', reads={reads})\n"
        "def large(spark):\n"
        "    orders = spark.table('orders')\n"
        f"    return {rows}\n"
    )
    (shop / "views" / "largest.sql").unlink()
    view = Project.load(shop).plan(builders=SparkAnalyst(spark))["large"]
    assert view.reads == tuple(sorted(reads))
    assert all(name in view.key.sources for name in reads)
    if customers:
        assert view.unit("customers").columns == customers


def test_a_builder_that_reads_files_runs_every_time(shop: Path, spark: Any) -> None:
    folder = shop.parent / "elsewhere"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "a.parquet")
    (shop / "views" / "large.py").write_text(
        "from headrace.pipeline import view\n"
        "@view(materialise='output')\n"
        "def large(spark):\n"
        f"    return spark.sql('SELECT (SELECT max(a) FROM parquet.`{folder}`) AS amount')\n"
    )
    view = Project.load(shop).plan(builders=SparkAnalyst(spark))["large"]
    assert view.skip_key is None
    assert "it reads data that is no source of the project (LogicalRelation)" in view.key.volatile


def test_the_facts_of_an_older_analysis_are_not_reused(shop: Path, spark: Any) -> None:
    analysed = Project.load(shop).plan(builders=SparkAnalyst(spark))
    facts = analysed["large"].builder
    assert facts is not None
    older = msgspec.structs.replace(
        analysed["large"], builder=msgspec.structs.replace(facts, format=1)
    )
    assert Project.load(shop).plan(previous={"large": older})["large"].builder is None


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
