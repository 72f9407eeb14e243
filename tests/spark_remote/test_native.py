"""Spark's own file system for S3, tested only if the environment names its package."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import headrace.spark
from headrace.pipeline import Project
from headrace.pipeline.runs.run_record import ViewStatus
from tests.emulator.place import SECRET_KEY, Place
from tests.pipeline.running.remote_project import (
    AFTER_MORE,
    APPENDED_TWICE,
    MORE,
    VIEWS,
    RemoteProject,
)
from tests.pipeline.running.remote_source import write_project

PACKAGE = os.environ.get("HEADRACE_HADOOP_AWS", "")
pytestmark = [
    pytest.mark.skipif(not PACKAGE, reason="run by make spark-remote, which downloads a package"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
    }
    session = headrace.spark.local(cores=2, memory="1g", **settings)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table(s3: Place, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("native") / "orders"
    numbers = list(range(100))
    data = pa.table({"n": numbers, "part": [str(n % 3) for n in numbers]})
    write_deltalake(folder, data, partition_by=["part"])
    return s3.upload(Path(folder), "native/orders")


def test_spark_reads_data_files_through_its_own_file_system(
    session: SparkSession, table: str, s3: Place
) -> None:
    rows = headrace.spark.read(session, table, storage_options=s3.options)
    assert rows.where("part = '1' AND n > 50").count() == 16
    assert rows.agg({"n": "sum"}).collect()[0][0] == 4950
    assert all(file.startswith("s3a://") for file in rows.inputFiles())
    assert SECRET_KEY not in rows._jdf.queryExecution().toString()


def test_a_pipeline_on_spark_reads_its_source_from_a_store(
    session: SparkSession, table: str, s3: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session is not None
    monkeypatch.setenv("LAKE_KEY", s3.options["aws_access_key_id"])
    monkeypatch.setenv("LAKE_SECRET", SECRET_KEY)
    root = write_project(tmp_path / "project", table, s3)
    Project.load(root).run(engine="spark").check()
    totals = headrace.Table(root / "output" / "totals").snapshot().rows().read_all().to_pylist()
    assert {row["part"]: row["total"] for row in totals} == {"0": 1683, "1": 1617, "2": 1650}


def test_a_pipeline_on_spark_writes_its_outputs_to_a_store(
    session: SparkSession, s3: Place, tmp_path: Path
) -> None:
    assert session is not None
    views = VIEWS | {"latest": VIEWS["latest"].replace("-- @change_feed true\n", "")}
    project = RemoteProject(s3, tmp_path / "project", prefix="spark/project", views=views)
    project.run(engine="spark").check()
    project.write_source(MORE)
    project.run(engine="spark").check()
    assert project.rows() == AFTER_MORE | {"log": APPENDED_TWICE}
    assert project.leftovers() == []
    assert project.run(engine="spark").count(ViewStatus.RAN) == 0
    Project.load(project.folder).replay(engine="spark").check()
