import io
import time

from pyspark.sql import SparkSession
from rich.console import Console

import headrace.spark
from headrace.terminal.progress_bar import ProgressBar


def terminal() -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        force_interactive=True,
        width=80,
        color_system=None,
    )


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_work_on_spark_is_shown_on_a_terminal(spark: SparkSession) -> None:
    console = terminal()
    with headrace.spark.progress(spark, "counting", console=console):
        slow = spark.sparkContext.parallelize(range(6), 6).map(lambda _: time.sleep(0.4))
        assert slow.count() == 6
        assert spark.range(10).count() == 10
    text = shown(console)
    assert "counting" in text
    assert "/6" in text


def test_without_a_terminal_nothing_is_written_or_polled(spark: SparkSession) -> None:
    console = Console(file=io.StringIO())
    with headrace.spark.progress(spark, "counting", console=console) as bar:
        assert spark.range(10).count() == 10
        assert not bar.is_shown
        assert list(spark.sparkContext.getJobTags()) == []
    assert shown(console) == ""


def test_job_tags_of_the_user_are_kept(spark: SparkSession) -> None:
    spark.sparkContext.addJobTag("mine")
    try:
        with headrace.spark.progress(spark, console=terminal()):
            assert len(spark.sparkContext.getJobTags()) == 2
        assert list(spark.sparkContext.getJobTags()) == ["mine"]
    finally:
        spark.sparkContext.removeJobTag("mine")


def test_a_bar_can_show_other_work() -> None:
    console = terminal()
    with ProgressBar("reading", console=console) as bar:
        bar.update(3, total=7, note="files")
        time.sleep(0.2)
    assert "3/7 files" in shown(console)
