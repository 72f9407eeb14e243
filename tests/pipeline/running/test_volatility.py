"""Volatile expressions: Spark is the oracle, both when views run and for our own list."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf
from pyspark.errors import PySparkException

from headrace.pipeline import Project
from headrace.pipeline.analysis.lint import Hazard, lint_query
from headrace.pipeline.analysis.query import parse_query
from headrace.pipeline.analysis.volatile import KnownColumns
from headrace.pipeline.project.header import Tier
from headrace.pipeline.project.spark_setting import HARMLESS
from headrace.pipeline.runners.spark.analyst import SparkAnalyst
from headrace.pipeline.runners.spark.runner import SparkRunner
from headrace.pipeline.runners.spark.view_session import changed_settings
from headrace.pipeline.runners.spark.volatility import volatile_parts
from headrace.pipeline.runners.task import ViewResult, ViewTask
from tests.pipeline.mutations.mutation import NONE
from tests.pipeline.mutations.surroundings import CLOCK_AND_SESSION
from tests.pipeline.shop import write_shop

_PART_OF_THE_KEY = frozenset({"current_timezone", "convert_timezone", "version"})
"""Functions that depend on the session only through the key: time zone and Spark version."""


def examples_of_all_functions(spark: Any) -> Iterator[tuple[str, str]]:
    """Yield every call in Spark's own function documentation."""
    registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry
    entries = registry.expressions().iterator()
    while entries.hasNext():
        entry = entries.next()
        for query in re.findall(r">\s*(SELECT.*?);", entry._2()._1().getExamples(), re.DOTALL):
            yield entry._1(), query


def is_listed(sql: str) -> bool:
    tree = parse_query(sql, file="x").tree
    findings = lint_query(
        tree, lineage=None, volatile={}, tier=Tier.STABLE_SET, columns=KnownColumns()
    )
    return any(finding.hazard is Hazard.VOLATILE for finding in findings)


def test_the_list_has_exactly_the_functions_that_spark_calls_volatile(spark: Any) -> None:
    judged, missing, needless = set(), [], []
    for name, query in examples_of_all_functions(spark):
        try:
            reasons = volatile_parts(spark.sql(query))
        except (PySparkException, Py4JJavaError):
            continue  # uses a type, file or table that does not exist
        judged.add(name)
        if reasons and not is_listed(query) and name not in _PART_OF_THE_KEY:
            missing.append(query)
        if not reasons and name not in _PART_OF_THE_KEY and _can_be_read(query):
            needless += [query] if is_listed(query) else []
    assert (missing, needless) == ([], [])
    assert len(judged) > 500


def _can_be_read(query: str) -> bool:
    try:
        parse_query(query, file="x")
    except Exception:  # noqa: BLE001  (the parser does not know all of Spark's syntax)
        return False
    return True


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT cast(concat('n', 'ow') AS timestamp)",
        "SELECT DATE '2024-01-01' < 'tomorrow'",
        "SELECT user FROM range(3)",
        "WITH a AS (SELECT uuid() AS u) SELECT * FROM a",
        "SELECT id FROM range(3) WHERE EXISTS (SELECT 1 FROM range(2) WHERE rand() > 0.5)",
        "SELECT (SELECT max(current_date()) FROM range(2)) AS d",
        "SELECT * FROM ids TABLESAMPLE (50 PERCENT)",
        "SELECT transform(array(1, 2), x -> x + rand()) AS t",
    ],
)
def test_spark_sees_what_is_hidden_in_a_query(spark: Any, sql: str) -> None:
    spark.range(10).createOrReplaceTempView("ids")
    assert volatile_parts(spark.sql(sql)), sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), sum(id), first(id), collect_list(id) FROM range(9)",
        "SELECT CAST('epoch' AS timestamp), DATE '2024-01-01', 'now' AS label",
        "SELECT id, row_number() OVER (ORDER BY id) FROM range(9) LIMIT 3",
        "SELECT convert_timezone('Asia/Tokyo', TIMESTAMP_NTZ '2024-01-01 00:00:00')",
    ],
)
def test_spark_reports_nothing_for_a_deterministic_query(spark: Any, sql: str) -> None:
    assert volatile_parts(spark.sql(sql)) == ()


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> dict[str, ViewResult]:
    """Return the results of the Spark runner, by view."""
    answered: dict[str, ViewResult] = {}
    compute = SparkRunner.compute

    def noted(runner: SparkRunner, task: ViewTask) -> ViewResult:
        answered[task.plan.name] = compute(runner, task)
        return answered[task.plan.name]

    monkeypatch.setattr(SparkRunner, "compute", noted)
    return answered


BUILDER = '''\
from headrace.pipeline import view


@view(materialise="output")
def dice(spark):
    """Randomness that the text does not show."""
    from pyspark.sql import functions as F
    return spark.table("weather").withColumn("r", F.rand())
'''


def test_a_run_records_volatility_that_planning_could_not_detect(
    tmp_path: Path, spark: Any, results: dict[str, ViewResult]
) -> None:
    root = write_shop(tmp_path / "shop")
    hidden = "SELECT CAST(concat('n', 'ow') AS TIMESTAMP) AS at, day FROM weather"
    (root / "views" / "hidden.sql").write_text(f"-- @materialise output\n{hidden}\n")
    (root / "views" / "dice.py").write_text(BUILDER)
    record = Project.load(root).run(session=spark)
    record.check()
    assert "is a different time in each run" in results["hidden"].volatile[0]
    assert "is a different value in each run" in results["dice"].volatile[0]
    assert [results[name].volatile for name in ("revenue", "top", "forecast")] == [(), (), ()]


def test_a_builder_that_spark_calls_volatile_has_no_key(tmp_path: Path, spark: Any) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "views" / "dice.py").write_text(BUILDER)
    project = Project.load(root)
    first = project.plan(builders=SparkAnalyst(spark))
    assert first["dice"].skip_key is None
    again = project.plan(previous=first.views)  # without a session: the earlier answer counts
    assert again["dice"].skip_key is None
    assert any("each run" in reason for reason in again["dice"].key.volatile)


def test_an_unplanned_setting_makes_a_view_run_again(
    tmp_path: Path, spark: Any, results: dict[str, ViewResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session of a run may not be the one it was planned for."""
    root = write_shop(tmp_path / "shop")
    with (root / "headrace.toml").open("a") as manifest:
        manifest.write('[profiles.raw.spark]\n"spark.sql.parser.escapedStringLiterals" = "true"\n')
    text = r"SELECT length('a\tb') AS n FROM weather LIMIT 1"
    (root / "views" / "v.sql").write_text(f"-- @materialise output\n{text}\n")
    project = Project.load(root)
    plain, raw = project.plan(session=spark)["v"], project.plan(profile="raw", session=spark)["v"]
    assert plain.skip_key != raw.skip_key
    project.run(session=spark, profile="raw", select=["v"]).check()
    assert results["v"].volatile == ()
    monkeypatch.setattr("headrace.pipeline.execution.prepare.result_settings", lambda _: {})
    project.run(session=spark, profile="raw", select=["v"], full_refresh=True).check()
    reasons = "; ".join(results["v"].volatile)
    assert "escapedStringLiterals is true, which was not known when it was planned" in reasons


def test_settings_a_session_was_started_with_are_part_of_the_plan(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed_settings(spark) == {}
    started = SparkConf(loadDefaults=False)
    started.setAll([*spark.sparkContext.getConf().getAll(), ("spark.sql.mapKeyDedupPolicy", "X")])
    monkeypatch.setattr(spark.sparkContext, "_conf", started)
    assert changed_settings(None) == {"spark.sql.mapKeyDedupPolicy": "X"}
    root = write_shop(tmp_path / "shop")
    planned = Project.load(root).plan(session=spark)["revenue"]
    assert planned.key.settings["spark.sql.mapKeyDedupPolicy"] == "X"
    assert planned.unit("orders").where is None  # its meaning under this setting is unknown
    assert "spark.sql.mapKeyDedupPolicy" not in (
        Project.load(root).plan(session=spark, engine="datafusion")["revenue"].key.settings
    )


QUERY = """
    SELECT a.id % 7 AS k, count(*) AS n, sum(b.id) AS s, max(a.t) AS t, sum(a.d) AS d
    FROM numbers a JOIN numbers b ON a.id = b.id + 1 LEFT JOIN few f ON f.id = a.id
    WHERE a.id > 3 AND a.t LIKE '1%' GROUP BY 1
    UNION ALL SELECT id, row_number() OVER (ORDER BY id DESC), null, 'x', null FROM few
"""
ALTERNATIVES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.adaptive.localShuffleReader.enabled": "false",
    "spark.sql.adaptive.skewJoin.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.cbo.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
    "spark.sql.files.maxPartitionBytes": "2000",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.inMemoryColumnarStorage.batchSize": "2",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.join.preferSortMergeJoin": "false",
    "spark.sql.leafNodeDefaultParallelism": "3",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.parquet.columnarReaderBatchSize": "2",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.shuffle.partitions": "5",
}


def test_settings_listed_as_harmless_change_no_row(tmp_path: Path, spark: Any) -> None:
    assert set(ALTERNATIVES) <= HARMLESS
    session = spark.newSession()
    session.sql(
        "SELECT id, cast(id AS string) AS t, cast(id AS decimal(12, 2)) AS d FROM range(200)"
    ).coalesce(1).write.parquet(str(tmp_path / "numbers"))
    session.range(5).coalesce(1).write.parquet(str(tmp_path / "few"))
    for name in ("numbers", "few"):
        session.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    expected = sorted(map(str, session.sql(QUERY).collect()))
    assert len(expected) == 12
    names = sorted(ALTERNATIVES)
    for some in (names[::4], names[1::4], names[2::4], names[3::4]):
        for name in some:
            session.conf.set(name, ALTERNATIVES[name])
        assert sorted(map(str, session.sql(QUERY).collect())) == expected, some
        for name in some:
            session.conf.unset(name)


def test_pruned_parquet_files_give_spark_the_same_rows(tmp_path: Path, spark: Any) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "files").mkdir()
    for start in range(0, 50, 10):
        rows = pa.table({"a": [start, start + 5, None], "b": ["x", "y", "z"]})
        pq.write_table(rows, root / "files" / f"{start}.parquet")
    with (root / "headrace.toml").open("a") as manifest:
        manifest.write('[sources.p]\nkind = "parquet"\nuri = "files"\n')
        manifest.write('schema = "a BIGINT, b STRING"\n')
    queries = {"some": "a >= 15 AND a < 25", "no_row": "a > 1000", "nulls": "a IS NULL"}
    for name, where in queries.items():
        text = f"-- @materialise output\nSELECT a, b FROM p WHERE {where}\n"
        (root / "views" / f"{name}.sql").write_text(text)
    project = Project.load(root)
    files_kept = {name: project.plan()[name].unit("p").files_kept for name in queries}
    assert files_kept == {"some": 2, "no_row": 0, "nulls": 5}
    record = project.run(session=spark, select=list(queries))
    record.check()
    spark.read.parquet(str(root / "files")).createOrReplaceTempView("all_files")
    for name, where in queries.items():
        expected = spark.sql(f"SELECT a, b FROM all_files WHERE {where}").count()
        digest = record.views[name].digest
        assert digest is not None
        assert digest.rows == expected


def test_every_function_on_the_list_is_volatile_on_spark(spark: Any) -> None:
    """Except for typed literals, which Spark's parser replaces before it makes a plan."""
    spark.sql("SELECT DATE '2024-01-01' AS day, 1L AS degrees").createOrReplaceTempView("days")
    for mutation in CLOCK_AND_SESSION:
        match = re.match(r"`(.*)`,", mutation.name)
        call = match[1] if match else ""
        is_typed = re.match(r"(?i)(date|timestamp\w*)\s*'", call)
        if mutation.key != NONE or not call or is_typed or "$" in call:
            continue
        if call.partition("(")[0] in _PART_OF_THE_KEY:
            continue
        assert volatile_parts(spark.sql(f"SELECT {call} AS x FROM days")), call
