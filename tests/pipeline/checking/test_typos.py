"""Mistakes are found before anything runs, without false alarms; Spark is the oracle."""

import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from headrace.cli.app import app
from headrace.errors import InvalidViewError
from headrace.pipeline import Project, wiring
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.functions.builtin import spark_signatures
from tests.pipeline.checking.tables import (
    CUSTOMERS,
    LAMBDA,
    ORDERS,
    TYPOS,
    UNUSUAL,
    Typo,
    write_project,
)

PLACES_OF_SPARK = {
    "SELECT * EXCEPT (^ctiy) FROM orders": (1, 8),
    "SELECT transform(tags, x -> concat(x, ^ctiy)) AS y FROM orders": (1, 8),
    "SELECT transform(tags, elem -> concat(^elme, 'x')) AS y FROM orders": (1, 8),
    "SELECT ^items[0].qtty FROM orders": (1, 17),
    "SELECT id FROM orders WHERE ^id": (1, 1),
    "SELECT if(^amount > 1, id) AS x FROM orders": (1, 8),
    f"SELECT if(^amount > 1, id) AS x FROM orders WHERE {LAMBDA}": (1, 8),
    "SELECT substring(^city) AS x FROM orders": (1, 8),
    "SELECT substring(^city, 1, 2, 3) AS x FROM orders": (1, 8),
}
"""Mistakes that Spark reports at another position of the same SQL."""
WITHOUT_NAME = [
    "SELECT city, sum(amount) AS s FROM orders GROUP BY city HAVING ^amonut > 1",
    "SELECT id FROM orders ORDER BY ^amoutn",
    "SELECT ^oo.* FROM orders o",
    "SELECT ^ordrs.id FROM orders",
    "SELECT o.id, b FROM orders o, LATERAL (SELECT ^o.amuont + 1 AS b)",
    "SELECT ^:frist_day AS u",
]
"""Mistakes for which Spark suggests no name."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("checked") / "project")


@pytest.fixture(scope="module")
def judge(spark: Any) -> Any:
    session = spark.newSession()
    for name, schema in (("orders", ORDERS), ("customers", CUSTOMERS)):
        frame = session.createDataFrame(session.sparkContext.emptyRDD(), schema_text(schema))
        frame.createOrReplaceTempView(name)
    return session


def write_view(root: Path, sql: str) -> None:
    (root / "views" / "v.sql").write_text(sql)


@pytest.mark.parametrize(
    ("command", "typo"),
    [*(("check", typo) for typo in TYPOS), *(("plan", typo) for typo in TYPOS[::8])],
    ids=lambda value: value.marked if isinstance(value, Typo) else value,
)
def test_a_typo_is_reported_with_its_place_and_the_nearest_name(
    root: Path, command: str, typo: Typo
) -> None:
    write_view(root, typo.sql)
    result = CliRunner().invoke(app, [command, str(root)])
    line, column = typo.place
    message = " ".join(result.stderr.split())
    assert result.exit_code == 1, message
    assert f"views/v.sql line {line} column {column}:" in message
    if typo.nearest is not None:
        assert f"did you mean {typo.nearest}" in message.replace("did you mean :", "did you mean ")


def test_a_syntax_error_quotes_the_text_and_not_the_parsers_token(root: Path) -> None:
    write_view(root, "SELECT id FROM WHERE id = 1")
    message = " ".join(CliRunner().invoke(app, ["check", str(root)]).stderr.split())
    assert "Expected table name but got WHERE (" in message


@pytest.mark.parametrize("sql", UNUSUAL)
def test_a_correct_view_is_accepted(root: Path, sql: str) -> None:
    write_view(root, sql)
    assert list(Project.load(root).plan().views) == ["v"]


def test_spark_accepts_every_unusual_view(judge: Any) -> None:
    for sql in UNUSUAL:
        assert judge.sql(sql).columns


def test_spark_refuses_every_typo_and_its_error_gives_place_and_name(
    root: Path, spark: Any
) -> None:
    write_view(root, "SELECT 1 AS x")
    project = Project.load(root)
    right = project.plan()
    checker = wiring.view_checker(
        spark, profile=project.profile("default"), settings=right.settings, catalog=project.catalog
    )
    elsewhere, unnamed = {}, []
    for typo in TYPOS:
        if typo.sql.startswith("--"):
            continue
        view = msgspec.structs.replace(
            right["v"], sql=typo.sql, reads=("customers", "orders"), schema=None
        )
        bundle = msgspec.structs.replace(right, views={"v": view})
        with pytest.raises(InvalidViewError) as caught:
            checker.check(bundle, {"orders": ORDERS, "customers": CUSTOMERS}, ["v"])
        error = caught.value
        if (error.line, error.column) != typo.place:
            elsewhere[typo.marked] = (error.line, error.column)
        if typo.nearest and f"did you mean {typo.nearest}?" not in error.reason:
            unnamed.append(typo.marked)
    assert elsewhere == PLACES_OF_SPARK
    assert unnamed == WITHOUT_NAME


def test_the_signatures_are_those_of_spark(judge: Any) -> None:
    """Check a sample of the signatures: checking all takes minutes."""
    script = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "make_signatures.py"))
    names = sorted(spark_signatures())[::90]
    lines = script["TARGET"].read_text(encoding="utf-8").splitlines()
    expected = [line for line in lines if line.split()[0] in names]
    assert script["signature_lines"](judge, names) == expected


def test_spark_analyses_a_run_before_anything_is_written(tmp_path: Path, spark: Any) -> None:
    root = write_project(tmp_path / "project")
    (root / "views" / "a.sql").write_text("-- @materialise output\nSELECT id FROM orders")
    (root / "views" / "b.sql").write_text(
        "-- @materialise output\nSELECT a.id, explode(sequence(city, city)) AS s\nFROM a, orders"
    )
    project = Project.load(root)
    for judge_views in (project.run, project.plan, project.check):
        with pytest.raises(InvalidViewError, match=r"Spark says: \[DATATYPE_MISMATCH") as caught:
            judge_views(session=spark)
        assert (caught.value.file, caught.value.line, caught.value.column) == ("views/b.sql", 2, 22)
    assert project.runs() == []
    assert not (project.state.outputs / "a").path.exists()
