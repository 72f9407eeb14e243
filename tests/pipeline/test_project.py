"""Project files: what they may contain, and errors that name the file and the key."""

from datetime import date
from pathlib import Path

import pytest

from headrace.errors import (
    InvalidArgumentError,
    InvalidProjectError,
    InvalidViewError,
    ProjectNotFoundError,
    UnknownRelationError,
    ViewCycleError,
)
from headrace.pipeline import Materialise, Project, Tier, WriteMode
from headrace.pipeline.project.header import read_header
from headrace.pipeline.project.scaffold import write_project
from headrace.pipeline.runs.run_record import ViewStatus
from tests.pipeline.shop import edit

LEGACY = "[profiles.dev]\nspark = { 'spark.sql.legacy.timeParserPolicy' = 'LEGACY' }\n"


def test_a_folder_without_a_project_says_how_to_create_one(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFoundError, match="headrace init"):
        Project.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("[project]", "[projct]", "projct", "there is no such table"),
        ('name = "shop"', "", "project", "lacks the key `name`"),
        ('name = "shop"', "name = 3", "project.name", "Expected `str`, got `int`"),
        ("[sources.orders]", "[sources.Orders]", "sources.Orders", "lower-case"),
        ('"lake/orders"', '"x"\nurl = 1', "sources.orders", "there is no key `url`"),
        ('"lake/orders"', '"x"\nversion = "3"', "sources.orders.version", "Expected `int | null`"),
        ('"lake/orders"', '"x"\nversion = -3', "sources.orders.version", "0 or more"),
        (
            '"lake/orders"',
            '"x"\nversion = 3\nas_of = 2026-01-01',
            "sources.orders.as_of",
            "not both",
        ),
        ('"lake/orders"', '"x"\nkind = "parquet"', "sources.orders.schema", "needs its columns"),
        ('"lake/orders"', '"x"\noptional = true', "sources.orders.schema", "needs its columns"),
        ('"lake/orders"', '"x"\nschema = "id"', "sources.orders.schema", "list of columns"),
        ('"UTC"', '"Mars"', "settings", "time_zone: there is no zone 'Mars'"),
        ("least = 10", "least = [1]", "variables.least", "a variable is a string"),
        ("[settings]", "[profiles.dev]\ncores = 3\n[settings]", "profiles.dev", "no key `cores`"),
        ("[settings]", '[profiles.dev]\nmemory = "much"\n[settings]', "profiles.dev", "not a size"),
        ("[settings]", LEGACY + "[settings]", "profiles.dev", "plans rely on it"),
        ("[settings]", "[settings", "(syntax)", "line"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(
    shop: Path, old: str, new: str, key: str, message: str
) -> None:
    edit(shop / "headrace.toml", old, new)
    with pytest.raises(InvalidProjectError) as caught:
        Project.load(shop)
    assert caught.value.key == key
    assert caught.value.file == str(shop / "headrace.toml")
    assert message in caught.value.reason


def test_a_view_may_not_have_the_name_of_a_source(shop: Path) -> None:
    (shop / "views" / "orders.sql").write_text("SELECT 1 AS one")
    with pytest.raises(InvalidProjectError, match=r"sources\.orders: there is a view of the same"):
        Project.load(shop)


def test_profiles_build_on_the_presets_and_are_mapped_to_both_runners(shop: Path) -> None:
    edit(shop / "headrace.toml", "[settings]", '[profiles.dev]\nmemory = "512MiB"\n\n[settings]')
    project = Project.load(shop)
    dev = project.profile("dev")
    assert dev.memory_bytes == 512 << 20
    assert dev.spark_settings()["spark.driver.memory"] == "512m"
    assert dev.datafusion_settings()["datafusion.execution.batch_size"] == "8192"
    assert project.profile("prod").parallelism > project.profile().parallelism
    with pytest.raises(InvalidArgumentError, match="there are default, dev, prod"):
        project.profile("test")


def test_a_variable_keeps_its_type_from_the_file(shop: Path) -> None:
    edit(shop / "headrace.toml", "least = 10", "least = 10\nday = 2026-01-02\nflag = true")
    project = Project.load(shop)
    assert project.variables({"least": "11", "day": "2026-03-01", "flag": "False"}) == {
        "least": 11,
        "day": date(2026, 3, 1),
        "flag": False,
        "other": "unused",
    }
    with pytest.raises(InvalidArgumentError, match="least: 'many' is not of type int, such as 10"):
        project.variables({"least": "many"})
    with pytest.raises(InvalidArgumentError, match="there is no variable lest"):
        project.variables({"lest": "1"})


HEADER = """\
-- Prose may stand anywhere.
-- @description Revenue of
--    each customer.
-- @materialise output
-- @write merge
-- @keys customer, day
-- @partition_by day
-- @tier BEST_EFFORT
-- @tolerance 1e-6
-- @order_by day
-- @metadata owner = sales
-- @contract ADDITIVE (customer BIGINT NOT NULL,
--     day DATE)
SELECT 1
-- @write append
"""


def test_a_header_is_read_from_the_leading_comments() -> None:
    header = read_header(HEADER, file="f.sql", view="f")
    assert header.description == "Revenue of each customer."
    assert header.materialise is Materialise.OUTPUT
    assert header.write is WriteMode.MERGE
    assert header.keys == ("customer", "day")
    assert header.tier is Tier.BEST_EFFORT
    assert header.tolerance == 1e-6
    assert header.contract is not None
    assert header.contract.partition_columns == ("day",)
    assert header.contract.ordering == ("day",)
    assert header.contract.metadata == {"owner": "sales"}
    assert [column.type for column in header.contract.columns] == ["BIGINT", "DATE"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- @materialize output", "there is no @materialize"),
        ("-- @materialise delta", "@materialise is none or memory or staging or output"),
        ("-- @write append", "add '@materialise output'"),
        ("-- @materialise output\n-- @write merge", "a merge needs @keys"),
        ("-- @materialise output\n-- @write overwrite_partitions", "needs @partition_by"),
        ("-- @tier BEST", "@tier is CANONICAL or STABLE_SET or BEST_EFFORT"),
        ("-- @tolerance 1e-6", "a tolerance is for"),
        ("-- @keys a\n-- @keys b", "@keys is set twice"),
        ("-- @contract (a)", "list of columns"),
        ("-- @contract LOOSE (a INT)", "the policy of a contract"),
        ("-- @contract a INT", "@contract is"),
        ("-- @contract (a INT)\n-- @order_by b", "b is not among the columns"),
        ("-- @metadata owner", "NAME = VALUE"),
        ("-- @order_by b", "add @contract"),
        ("-- @change_feed maybe", "true or false"),
    ],
)
def test_a_wrong_header_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidViewError) as caught:
        read_header(text + "\nSELECT 1", file="f.sql", view="f")
    assert message in caught.value.reason


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT", "a view is one query"),
        ("SELECT 1; SELECT 2", "a view is one query"),
        ("DROP TABLE orders", "a view is one query"),
        ("SELEC 1 FROM orders", "it is not Spark SQL"),
        ("SELECT * FROM orders VERSION AS OF 3", "pinned in headrace.toml"),
        ("SELECT :unknown AS u", "it uses :unknown, which [variables] does not have"),
    ],
)
def test_a_text_that_is_not_one_query_is_refused(shop: Path, sql: str, message: str) -> None:
    (shop / "views" / "odd.sql").write_text(sql)
    with pytest.raises(InvalidViewError) as caught:
        Project.load(shop).plan()
    assert message in caught.value.reason
    assert caught.value.file == "views/odd.sql"


def test_a_view_that_cannot_be_read_is_named(shop: Path) -> None:
    (shop / "views" / "bytes.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(InvalidViewError, match=r"views/bytes\.sql: it cannot be read"):
        Project.load(shop).plan()
    (shop / "views" / "bytes.sql").unlink()
    (shop / "views" / "folder.sql").mkdir()
    with pytest.raises(InvalidViewError, match=r"views/folder\.sql: it cannot be read"):
        Project.load(shop).plan()


def test_functions_cannot_end_the_process(shop: Path) -> None:
    (shop / "functions.py").write_text("import sys; sys.exit(3)")
    with pytest.raises(InvalidViewError, match="SystemExit"):
        Project.load(shop).plan()


def test_an_unknown_relation_is_named(shop: Path) -> None:
    (shop / "views" / "odd.sql").write_text("SELECT * FROM ordres")
    with pytest.raises(UnknownRelationError, match="view odd reads ordres"):
        Project.load(shop).plan()


def test_a_cycle_is_named_with_its_path(shop: Path) -> None:
    for name, upstream in (("b", "c"), ("c", "d"), ("d", "b"), ("e", "b")):
        (shop / "views" / f"{name}.sql").write_text(f"SELECT * FROM {upstream}")
    with pytest.raises(ViewCycleError) as caught:
        Project.load(shop).plan()
    assert caught.value.path == ("b", "c", "d", "b")


def test_a_name_may_be_used_once(shop: Path) -> None:
    (shop / "views" / "sub").mkdir()
    (shop / "views" / "sub" / "top.sql").write_text("SELECT 1 AS one")
    with pytest.raises(InvalidViewError, match="there is already a view top"):
        Project.load(shop)


def test_a_new_project_works(tmp_path: Path) -> None:
    write_project(tmp_path / "new")
    bundle = Project.load(tmp_path / "new").plan()
    assert {view.name: view.unplanned for view in bundle.views.values() if view.unplanned} == {}
    with pytest.raises(InvalidArgumentError, match="it already has a project"):
        write_project(tmp_path / "new")


def test_a_new_project_runs_and_then_skips_everything(tmp_path: Path) -> None:
    write_project(tmp_path)
    project = Project.load(tmp_path)
    first, second = (project.run(engine="datafusion") for _ in range(2))
    first.check()
    second.check()
    assert {view.status for view in first.views.values()} == {ViewStatus.RAN, ViewStatus.INLINED}
    assert {view.status for view in second.views.values()} == {
        ViewStatus.SKIPPED,
        ViewStatus.INLINED,
    }


def test_a_new_project_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text("mine")
    with pytest.raises(InvalidArgumentError, match=r"functions\.py already exists"):
        write_project(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["functions.py"]
