import os
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

import headrace.spark
from headrace.errors import InvalidArgumentError, SessionError


@pytest.fixture(autouse=True)
def _active(spark: SparkSession) -> None:
    """Activate the shared session: the last test may have used another one."""
    spark.createDataFrame([(1,)], "n INT")


def test_a_local_session_computes_and_keeps_to_this_machine(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id)").first() == (45,)
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_settings_of_a_session_do_not_stay_in_the_environment(
    spark: SparkSession,
) -> None:
    assert spark is not None
    assert os.environ.get("SPARK_LOCAL_IP") is None


def test_a_second_call_returns_the_running_session(spark: SparkSession) -> None:
    assert headrace.spark.local() is spark
    assert headrace.spark.local(cores=2) is spark
    assert headrace.spark.open_session(master="local[2]") is spark


def test_a_call_with_other_settings_names_the_differences(spark: SparkSession) -> None:
    assert spark is not None
    with pytest.raises(SessionError, match=r"spark.driver.memory=1g;"):
        headrace.spark.local(memory="3g")


def test_attaching_returns_the_given_session(spark: SparkSession) -> None:
    before = dict(spark.sparkContext.getConf().getAll())
    assert headrace.spark.attach(spark) is spark
    assert dict(spark.sparkContext.getConf().getAll()) == before


def test_python_workers_run_the_interpreter_of_the_driver(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect() == [
        sys.executable
    ]


def test_an_unknown_spark_setting_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="shuffle_partitions"):
        headrace.spark.local(shuffle_partitions=3)


def test_a_cluster_and_a_server_at_once_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="not both"):
        headrace.spark.open_session(master="spark://a:7077", remote="sc://b")


def test_a_cluster_may_be_named_by_the_setting_of_spark(spark: SparkSession) -> None:
    with pytest.raises(SessionError, match=r"spark\.master=local"):
        headrace.spark.open_session(**{"spark.master": "spark://a:7077"})
    assert headrace.spark.open_session(**{"spark.master": spark.sparkContext.master}) is spark


def test_without_pyspark_the_error_says_how_to_install_it() -> None:
    script = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'pyspark' else real(name, *a)\n"
        "import headrace.spark"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert result.returncode != 0
    assert "pip install 'headrace[spark]'" in result.stderr
