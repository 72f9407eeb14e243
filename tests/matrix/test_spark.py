"""The type matrix on Spark: native reads, the data source, and Spark as a writer."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import headrace.spark
from tests.effort import EXAMPLES, STANDARD
from tests.matrix.all_cases import CASES, case_id
from tests.matrix.by_spark import spark_cases
from tests.matrix.case import FILE, Case, Condition, Layout, conditions, layouts
from tests.matrix.check import EVERYTHING, check_every_table
from tests.matrix.judge import by_the_clock, read_by
from tests.rows.naive import bag

ZONE = "spark.sql.session.timeZone"


@pytest.fixture(autouse=True)
def utc(spark: SparkSession) -> Iterator[None]:
    before = str(spark.conf.get(ZONE))
    spark.conf.set(ZONE, "UTC")
    yield
    spark.conf.set(ZONE, before)


@pytest.mark.parametrize("case", spark_cases(), ids=case_id)
def test_files_written_by_spark_are_read(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    path = tmp_path / FILE
    case.write(spark, path)
    names = [field["name"] for field in case.fields]
    for judge in case.judges:
        rows_read = map(by_the_clock, read_by(judge, path))
        assert bag(rows_read, names) == bag(map(by_the_clock, case.rows), names), judge
    check_every_table(tmp_path, case)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder per case, with a table for each of its layouts."""
    root = tmp_path_factory.mktemp("matrix")
    for number, case in enumerate(CASES):
        folder = root / str(number)
        folder.mkdir()
        case.write(folder / FILE)
        for layout in layouts(case):
            (folder / layout.name).mkdir()
            os.link(folder / FILE, folder / layout.name / FILE)
            layout.write(folder / layout.name, FILE)
    return root


IS_SAMPLE = EXAMPLES <= STANDARD
"""Whether each case is tested in only one of its tables; a soak run tests all of them."""
LAYOUTS = ("plain", "deleted rows", "mapped", "widened")


class Question(NamedTuple):
    """A table over a case, and a condition."""

    number: int
    layout: Layout
    condition: Condition

    @property
    def where(self) -> str:
        return self.layout.condition(self.condition)

    def table(self, tables: Path) -> str:
        return str(tables / str(self.number) / self.layout.name)

    @property
    def answer(self) -> Any:
        rows = self.layout.rows(CASES[self.number])
        matching = [self.layout.renamed(row) for row in rows if self.condition.keeps(row)]
        return bag(matching, self.layout.names.values())


def questions(name: str, *, step: int) -> list[Question]:
    """Return every `step`-th case in one layout, alternating between whole and filtered reads."""
    chosen_questions = []
    for number, case in enumerate(CASES):
        if number % step == LAYOUTS.index(name) % step:
            chosen_questions += [
                Question(number, layout, (EVERYTHING, *conditions(case))[number % 2])
                for layout in layouts(case)
                if layout.name == name
            ]
    return chosen_questions


def check(question: Question, frame: DataFrame) -> None:
    names = question.layout.names.values()
    title = CASES[question.number].title
    rows = frame.toArrow().to_pylist()
    assert bag(rows, names) == question.answer, (title, question.where)


@pytest.mark.property
@pytest.mark.parametrize("name", LAYOUTS)
def test_spark_reads_the_same_rows_natively(spark: SparkSession, tables: Path, name: str) -> None:
    for question in questions(name, step=4 if IS_SAMPLE else 1):
        if CASES[question.number].refused_by_spark is None:
            table = question.table(tables)
            check(question, headrace.spark.read(spark, table, where=question.where))


@pytest.mark.property
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_data_source_gives_the_same_rows(spark: SparkSession, tables: Path, name: str) -> None:
    headrace.spark.register(spark)
    for question in questions(name, step=24 if IS_SAMPLE else 1):
        if CASES[question.number].refused_by_arrow is None:
            source = spark.read.format("headrace").option("where", question.where)
            check(question, source.load(question.table(tables)))


REFUSED = [number for number, case in enumerate(CASES) if case.refused_by_spark is not None]


@pytest.mark.parametrize("number", REFUSED, ids=lambda number: CASES[number].title)
def test_a_refusal_by_spark_names_the_file(spark: SparkSession, tables: Path, number: int) -> None:
    table = tables / str(number) / "plain"
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        headrace.spark.read(spark, table).collect()
    text = str(caught.value)
    assert FILE in text
    assert str(CASES[number].refused_by_spark) in text


def test_the_data_source_names_the_unsupported_feature(spark: SparkSession, tables: Path) -> None:
    headrace.spark.register(spark)
    for number, case in enumerate(CASES):
        if case.refused_by_arrow is not None:
            frame = spark.read.format("headrace").load(str(tables / str(number) / "plain"))
            with pytest.raises(PySparkException, match=case.refused_by_arrow):
                frame.collect()
