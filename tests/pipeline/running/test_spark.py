"""Runs on Spark: the author's SQL over exactly the pinned files, with the same results."""

import threading
import time
from _thread import interrupt_main
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace import Table
from headrace.errors import RunCancelledError
from headrace.pipeline import Project, RunRecord, RunStatus, ViewStatus
from headrace.pipeline.execution.comparison import compare_rows
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.run_progress import Quiet
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Tier
from headrace.pipeline.runners.spark.job_group import SparkExecutions
from headrace.pipeline.runners.spark.result_digest import digest_written
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.row_digest import digest_batches
from tests.pipeline.embedded import rows_digest
from tests.pipeline.shop import append_orders, append_weather, edit, replace_views, write_shop
from tests.spark.special_table import mapped_table, with_vectors

BUILDER = '''\
from headrace.pipeline import view


@view(materialise="output")
def busiest(spark):
    """The customer with most orders."""
    return spark.table("orders").groupBy("customer").count()
'''
VIEWS = {
    "kept": "-- @materialise memory\nSELECT id, amount FROM orders WHERE year = 2024\n",
    "staged": "-- @materialise staging\nSELECT id, amount * 2 AS twice FROM kept\n",
    "both": (
        "-- @materialise output\n-- @tier CANONICAL\n-- @contract (id BIGINT NOT NULL, "
        "amount DECIMAL(12,2), twice DECIMAL(14,2))\n"
        "SELECT k.id, k.amount, s.twice FROM kept k JOIN staged s ON k.id = s.id ORDER BY k.id\n"
    ),
    "rounded": (
        "-- @materialise output\n-- @contract (id BIGINT, third DECIMAL(10,1))\n"
        "SELECT id, -amount / 3 AS third FROM orders\n"
    ),
    "by_year": (
        "-- @materialise output\n-- @partition_by year\n"
        "SELECT year, count(*) AS orders, sum(amount) AS amount FROM orders GROUP BY year\n"
    ),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_shop(tmp_path_factory.mktemp("spark") / "shop")
    for name, text in VIEWS.items():
        (root / "views" / f"{name}.sql").write_text(text)
    (root / "views" / "built.py").write_text(BUILDER)
    return root


@pytest.fixture(scope="module")
def first(shop: Path, spark: Any) -> RunRecord:
    record = Project.load(shop).run(session=spark, analyse=True)
    record.check()
    return record


def rows(root: Path, view: str, version: int | None = None) -> Any:
    return Table(root / "output" / view).snapshot(version=version).rows().read_all()


def test_every_view_runs_and_names_its_jobs(first: RunRecord) -> None:
    assert {view.status for view in first.views.values()} == {ViewStatus.RAN}
    jobs = [job for view in first.views.values() for job in view.job_ids]
    assert all(view.job_ids for view in first.views.values())
    assert len(jobs) == len(set(jobs))


def test_a_scan_reads_exactly_the_pinned_files(shop: Path, first: RunRecord) -> None:
    plans = Project.load(shop).store.plans(first, "revenue")
    assert set(plans) == set(PlanStage)
    assert "orders@1,files=1," in plans[PlanStage.PHYSICAL]
    assert "number of output rows" in plans[PlanStage.ANALYSED]


def test_both_runners_compute_the_same_digests(shop: Path, first: RunRecord) -> None:
    replayed = Project.load(shop).replay(first.id, engine="datafusion")
    failed = {name for name, view in replayed.views.items() if view.status is ViewStatus.FAILED}
    assert failed == {"busiest"}  # only Spark can build it
    for name, view in replayed.views.items():
        if name != "busiest":
            assert rows_digest(view) == rows_digest(first.views[name])


def test_after_an_append_only_the_affected_views_run(
    shop: Path, first: RunRecord, spark: Any
) -> None:
    assert first.status is RunStatus.SUCCEEDED
    append_weather(shop, day=2)
    second = Project.load(shop).run(session=spark)
    ran = {name for name, view in second.views.items() if view.status is ViewStatus.RAN}
    assert ran == {"forecast"}
    assert rows(shop, "forecast").num_rows == 2


def test_a_replay_after_ten_commits_runs_new_jobs_and_gives_equal_digests(
    shop: Path, first: RunRecord, spark: Any
) -> None:
    for step in range(10):
        append_orders(shop, year=2024, count=1 + step)
    replayed = Project.load(shop).replay(first.id, session=spark)
    replayed.check()
    for name, view in replayed.views.items():
        assert rows_digest(view) == rows_digest(first.views[name])
        assert view.job_ids
        assert not set(view.job_ids) & set(first.views[name].job_ids)


@pytest.mark.parametrize("tier", Tier)
def test_the_order_of_a_large_result_is_known_if_it_matters(
    tmp_path: Path, spark: Any, tier: Tier
) -> None:
    frame = spark.range(10_000, numPartitions=4).orderBy("id")
    folder, schema = Place(tmp_path / "t"), pa.schema([pa.field("id", pa.int64())])
    frame.write.parquet(str(folder))
    digest = digest_written(
        spark, folder, schema=schema, partition_by=(), tier=tier, driver_bytes=0
    )
    whole = digest_batches(schema, pa.table({"id": range(10_000)}).to_batches())
    assert (digest.rows, digest.rows_digest) == (whole.rows, whole.rows_digest)
    assert digest.order_digest == (whole.order_digest if tier is Tier.CANONICAL else None)


TIME = datetime(2024, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
TYPED = {
    "ts": pa.array([TIME, None], pa.timestamp("us", "UTC")),
    "ntz": pa.array([TIME.replace(tzinfo=None), None], pa.timestamp("us")),
    "d": pa.array([date(1500, 1, 1), None]),
    "price": pa.array([Decimal("1.23"), None], pa.decimal128(38, 10)),
    "b": pa.array([b"x", None]),
    "l": pa.array([[1, None], None]),
    "s": pa.array([{"a": 1, "b": "x"}, None]),
    "m": pa.array([[("k", TIME)], None], pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
    "f": pa.array([-0.0, None]),
    "small": pa.array([1, None], pa.int8()),
    "p": ["ü/%", None],
}
SOURCES = """
[sources.typed]
uri = "lake/typed"

[sources.mapped]
uri = "lake/mapped"

[sources.vectors]
uri = "lake/vectors"
"""


def test_sources_of_every_kind_give_the_same_rows_on_both_runners(
    tmp_path: Path, spark: Any
) -> None:
    """All types, null partitions, mapped columns and deletion vectors, in another time zone."""
    root = write_shop(tmp_path / "shop")
    write_deltalake(root / "lake" / "typed", pa.table(TYPED), partition_by=["p"])
    mapped_table(root / "lake" / "mapped", "name")
    with_vectors(root / "lake" / "vectors")
    manifest = (root / "headrace.toml").read_text() + SOURCES
    (root / "headrace.toml").write_text(manifest.replace('"UTC"', '"Europe/Berlin"'))
    queries = {
        "all_types": "SELECT * FROM typed",
        "times": "SELECT ts, ntz FROM typed WHERE ts > TIMESTAMP '2024-01-01 12:30:00'",
        "by_null": "SELECT * FROM typed WHERE p IS NULL",
        "renamed": "SELECT * FROM mapped",
        "left": "SELECT p, count(*) AS n, sum(id) AS total FROM vectors GROUP BY p",
        "parts": "SELECT p, ts FROM typed",
    }
    by = {"parts": "-- @partition_by p\n"}
    views = {n: f"-- @materialise output\n{by.get(n, '')}{sql}\n" for n, sql in queries.items()}
    replace_views(root, views)
    record = Project.load(root).run(session=spark)
    record.check()
    Project.load(root).replay(record.id, engine="datafusion").check()
    assert record.views["times"].rows == 1


def test_the_error_of_a_function_comes_first(tmp_path: Path, spark: Any) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "functions.py", "return pc.add(scale(ids), 1)", "raise RuntimeError('no points')")
    failure = Project.load(root).run(session=spark, select=["revenue"]).views["revenue"].failure
    assert failure is not None
    assert failure.code == "FUNCTION_FAILED"
    assert failure.text.splitlines()[0] == "function points failed: RuntimeError: no points"


class _InterruptingOnce(Quiet):
    """Presses Ctrl-C shortly after the first view has started."""

    def run_started(self, record: RunRecord, decisions: Mapping[str, Decision]) -> None:
        assert decisions["endless"].action is Action.RUN
        self.run = record.id
        threading.Timer(2.0, interrupt_main).start()


def test_ctrl_c_cancels_jobs_and_leaves_nothing_half_written(tmp_path: Path, spark: Any) -> None:
    root = write_shop(tmp_path / "shop")
    endless = "SELECT count(*) AS n FROM (SELECT explode(sequence(1, 30000)) AS a FROM weather) x"
    cross = " CROSS JOIN (SELECT explode(sequence(1, 30000)) AS b FROM weather) y"
    text = f"-- @materialise output\n{endless}{cross} WHERE sqrt(a) * sqrt(b) > 0.5\n"
    (root / "views" / "endless.sql").write_text(text)
    progress = _InterruptingOnce()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Project.load(root).run(session=spark, select=["endless"], progress=progress)
    assert time.monotonic() - start < 60
    record = Project.load(root).show(progress.run)
    assert record.status is RunStatus.CANCELLED
    assert record.views["endless"].status is ViewStatus.CANCELLED
    assert not list((root / "output").rglob("*.parquet"))
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_a_view_that_is_cancelled_before_its_job_is_submitted_starts_none(spark: Any) -> None:
    executions = SparkExecutions(spark, run="cancelled-early")

    def count() -> None:
        with executions.group("v"):
            executions.cancel()
            spark.range(10).count()

    with pytest.raises(RunCancelledError):
        count()


def test_tpch_queries_give_the_same_rows_on_both_runners(tpch: Path, spark: Any) -> None:
    project = Project.load(tpch)
    on_spark = project.run(session=spark)
    on_spark.check()
    on_datafusion = project.run(engine="datafusion")
    on_datafusion.check()
    for name, view in on_spark.views.items():
        other = on_datafusion.views[name]
        assert view.output is not None
        assert other.output is not None
        header = project.views[name].header
        then, now = rows(tpch, name, view.output.version), rows(tpch, name, other.output.version)
        assert compare_rows(then, now, tolerance=header.tolerance) is None, name
