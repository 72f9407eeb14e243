"""Random tables on Spark: pruning changes what is read, but never the resulting rows."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headrace.spark
from tests.effort import examples
from tests.expr.naive import sql
from tests.expr.strategies import predicates
from tests.lake.log import write_history
from tests.rows.naive import bag
from tests.rows.strategies import ALL, WrittenTable, history, tables

KEEP = "keep"


def _as_spark_can_read_it(table: WrittenTable) -> WrittenTable:
    """Return the same rows in the types that Delta requires, in files that Hadoop can open."""
    return replace(
        table,
        files=[
            replace(file, narrow=False, name=file.name.replace(":", "+")) for file in table.files
        ],
    )


@pytest.mark.property
@settings(max_examples=examples(25))
@given(data=st.data())
def test_a_condition_gives_the_rows_for_which_spark_finds_it_true(
    spark: SparkSession, data: st.DataObject
) -> None:
    columns = tuple(data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True)))
    table = _as_spark_can_read_it(data.draw(tables(columns, least=1), label="table"))
    condition = sql(data.draw(predicates(columns, table.rows), label="predicate"))
    with tempfile.TemporaryDirectory() as folder:
        write_history(Path(folder), history(table, Path(folder)))
        everything = headrace.spark.read(spark, folder)
        try:
            # As a column, the condition cannot filter anything.
            judged = everything.selectExpr("*", f"({condition}) AS {KEEP}").toArrow().to_pylist()
        except PySparkException:
            event("Spark refuses the condition")
            assume(False)
        before = headrace.spark.read(spark, folder, where=condition).toArrow().to_pylist()
        after = everything.where(condition).toArrow().to_pylist()
    assert bag(judged, ALL) == bag(table.rows, ALL)
    expected = bag((row for row in judged if row[KEEP]), ALL)
    event("some match" if expected else "none match")
    assert bag(before, ALL) == expected
    assert bag(after, ALL) == expected
