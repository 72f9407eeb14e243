"""The 99 TPC-DS queries: each returns Spark's rows on DataFusion, or is refused.

`make tpcds` creates the tables and queries, and sets `HEADRACE_TPCDS` to their folder.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.pipeline.arrow_ddl import spark_schema
from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Prepared, Tally, spark_rows

FOLDER = os.environ.get("HEADRACE_TPCDS")
QUERIES = [f"q{number:02}" for number in range(1, 100)]
_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*$")
"""The order of rows with equal keys is undefined, so all of them are compared."""
_MAX_REFUSED = 2

pytestmark = pytest.mark.skipif(not FOLDER, reason="`make tpcds` runs these tests")


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    files = (Path(FOLDER or "") / "data").glob("*.parquet")
    tables = {file.stem: pq.read_table(file) for file in files}
    return {name: table.cast(spark_schema(table.schema)) for name, table in tables.items()}


@pytest.fixture(scope="module")
def session(spark: Any, tables: dict[str, pa.Table]) -> Any:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.shuffle.partitions", "1")
    for name in tables:
        own.read.parquet(f"{FOLDER}/data/{name}.parquet").createOrReplaceTempView(name)
    return own


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    counts = Tally()
    yield counts
    print(f"\nTPC-DS: {counts}, {counts.fallbacks} from SQL")  # noqa: T201  (what it measures)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_equal_or_refused(
    query: str, session: Any, tables: dict[str, pa.Table], tally: Tally
) -> None:
    text = (Path(FOLDER or "") / "queries" / f"{query}.sql").read_text()
    sql = _LIMIT.sub("", text.strip().rstrip(";").strip())
    try:
        prepared = Prepared(sql, tables)
    except Refused as refused:
        tally.refused += 1
        print(f"\n{query} is refused: {refused}")  # noqa: T201
        return
    before = len(tally.different)
    theirs = spark_rows(session, sql)
    assert not isinstance(theirs, str), theirs
    tally.count(sql, prepared.rows(), theirs)
    tally.fallbacks += prepared.fallback is not None
    assert tally.different[before:] == []


def test_few_queries_are_refused(tally: Tally) -> None:
    assert tally.refused <= _MAX_REFUSED
