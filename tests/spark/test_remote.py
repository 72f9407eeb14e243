"""Remote tables with Spark from PyPI: workers read the log with Headrace's own client."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import headrace.spark
from headrace import Table
from headrace.errors import FileSystemMissingError, InvalidArgumentError
from headrace.spark.file_system import hadoop_settings, remote_address, spark_address
from tests.emulator.place import SECRET_KEY, Place


@pytest.fixture(scope="module")
def table(s3: Place, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("spark") / "events"
    for start in range(0, 30, 10):
        numbers = list(range(start, start + 10))
        data = pa.table({"n": numbers, "part": [n % 2 for n in numbers]})
        write_deltalake(folder, data, mode="append", partition_by=["part"])
    DeltaTable(folder).create_checkpoint()
    write_deltalake(folder, pa.table({"n": [30], "part": [0]}), mode="append")
    return s3.upload(Path(folder), "spark/events")


def test_workers_list_the_files_of_a_checkpoint_in_a_store(
    spark: SparkSession, table: str, s3: Place
) -> None:
    expected = {file.path for file in Table(table, storage_options=s3.options).snapshot().scan()}
    listed = headrace.spark.files(spark, table, storage_options=s3.options).collect()
    assert {row.path for row in listed} == expected
    opened = headrace.spark.open_table(spark, table, storage_options=s3.options)
    assert {file.path for file in opened.snapshot().scan()} == expected


def test_the_data_source_and_its_stream_read_the_rows_of_a_store(
    spark: SparkSession, table: str, s3: Place, tmp_path: Path
) -> None:
    headrace.spark.register(spark)
    storage = {f"storage.{name}": value for name, value in s3.options.items()}
    rows = spark.read.format("headrace").options(**storage).load(table)
    assert sorted(row.n for row in rows.where("part = 0").collect()) == list(range(0, 31, 2))
    stream = spark.readStream.format("headrace").options(**storage).load(table)
    query = (
        stream.writeStream.format("memory")
        .queryName("remote_rows")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    assert spark.table("remote_rows").count() == 31
    plan = rows._jdf.queryExecution().toString()
    assert SECRET_KEY not in plan + repr(rows) + str(query.lastProgress)


def test_a_native_read_names_the_package_that_spark_lacks(
    spark: SparkSession, table: str, s3: Place
) -> None:
    with pytest.raises(FileSystemMissingError, match=r"org\.apache\.hadoop:hadoop-aws:3") as raised:
        headrace.spark.read(spark, table, storage_options=s3.options)
    assert SECRET_KEY not in str(raised.value)


def test_storage_options_of_an_opened_table_are_refused(
    spark: SparkSession, table: str, s3: Place
) -> None:
    opened = Table(table, storage_options=s3.options)
    with pytest.raises(InvalidArgumentError):
        headrace.spark.files(spark, opened, storage_options=s3.options)


@pytest.mark.parametrize(
    ("uri", "options", "expected"),
    [
        ("s3://b/t/f", {}, "s3a://b/t/f"),
        ("s3a://b/t/f", {}, "s3a://b/t/f"),
        ("gs://b/t/f", {}, "gs://b/t/f"),
        ("az://c/t/f", {"account_name": "acc"}, "abfss://c@acc.dfs.core.windows.net/t/f"),
        ("abfss://c@acc/t/f", {}, "abfss://c@acc.dfs.core.windows.net/t/f"),
        (
            "abfss://c@acc.dfs.core.windows.net/t",
            {},
            "abfss://c@acc.dfs.core.windows.net/t",
        ),
        ("/data/t/f", {}, "/data/t/f"),
    ],
)
def test_addresses_get_the_schemes_of_hadoop(
    uri: str, options: dict[str, str], expected: str
) -> None:
    assert spark_address(uri, remote_address(uri, options)) == expected


def test_options_become_settings_of_hadoop() -> None:
    options = {"aws_access_key_id": "K", "aws_secret_access_key": "S", "region": "eu-west-1"}
    options |= {"endpoint_url": "http://127.0.0.1:9000", "aws_session_token": "T"}
    settings = hadoop_settings(remote_address("s3://b/t", options), options)
    assert settings == {
        "fs.s3a.access.key": "K",
        "fs.s3a.secret.key": "S",
        "fs.s3a.session.token": "T",
        "fs.s3a.endpoint.region": "eu-west-1",
        "fs.s3a.endpoint": "http://127.0.0.1:9000",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
        ),
    }
    azure = {"account_name": "acc", "account_key": "S"}
    assert hadoop_settings(remote_address("az://c/t", azure), azure) == {
        "fs.azure.account.key.acc.dfs.core.windows.net": "S"
    }
