"""Functions: golden values in both runners, and what a fingerprint covers."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from headrace.errors import FunctionChangedError, FunctionMissingError, InvalidFunctionError
from headrace.pipeline import Project, function
from headrace.pipeline.analysis.numeric import Kinds
from headrace.pipeline.analysis.planning_session import PlanningSession
from headrace.pipeline.analysis.query import parse_query
from headrace.pipeline.analysis.translate import translate
from headrace.pipeline.functions.catalog import project_catalog, standard_catalog
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.runners.spark.arrow_function import register_functions
from tests.pipeline.golden import GOLDEN, plain
from tests.pipeline.shop import edit, write_shop

NAMES = {
    *("stable_hash64", "stable_hash128", "prefixed_hash64", "stable_id"),
    *("span_make", "span_len", "span_overlaps", "span_contains", "interval_align_score"),
    *("utf8_normalize", "utf8_null_if_blank", "qname_normalize"),
    *("list_compact", "list_unique_sorted", "map_get_default", "map_normalize"),
    *("cdf_change_rank", "cdf_is_upsert", "cdf_is_delete"),
}


def test_the_standard_functions_are_those_that_are_documented() -> None:
    assert {entry.function.name for entry in standard_catalog()} == NAMES
    assert {call.partition("(")[0] for call, _ in GOLDEN} == NAMES
    assert all(entry.function.description for entry in standard_catalog())


def test_datafusion_computes_the_golden_values() -> None:
    catalog, session = standard_catalog(), PlanningSession(Settings())
    columns = ", ".join(f"{call} AS c{i}" for i, (call, _) in enumerate(GOLDEN))
    query = parse_query(f"SELECT {columns}", file="golden")
    translation = translate(query.tree, catalog=catalog, variables={}, kinds=Kinds(query.tree, []))
    for call in query.tree.find_all(exp.Anonymous):
        session.add_function(catalog[call.name], len(call.expressions))
    row = session.context.sql(translation).to_arrow_table().to_pylist()[0]
    assert [plain(value) for value in row.values()] == [value for _, value in GOLDEN]


def test_spark_computes_the_golden_values(spark: Any) -> None:
    register_functions(spark, [entry.function for entry in standard_catalog()])
    columns = ", ".join(f"{call} AS c{i}" for i, (call, _) in enumerate(GOLDEN))
    row = spark.sql(f"SELECT {columns}").collect()[0]
    assert [plain(value) for value in row] == [value for _, value in GOLDEN]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_function_of_no_rows_returns_no_rows(name: str) -> None:
    function = standard_catalog()[name]
    types = function.signature.argument_types(function.signature.required)
    assert types is not None
    result = function(*(pa.array([], kind) for kind in types))
    assert (len(result), result.type) == (0, function.signature.returns)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_function_of_a_slice_is_a_slice_of_the_function(name: str) -> None:
    function = standard_catalog()[name]
    types = function.signature.argument_types(function.signature.required)
    assert types is not None
    whole = [pa.array([*_samples(kind), None], kind) for kind in types]
    assert function(*(a.slice(1) for a in whole)).to_pylist() == function(*whole).to_pylist()[1:]


def _samples(kind: pa.DataType) -> list[Any]:
    if pa.types.is_map(kind):
        return [[("a", "1"), ("B", None)], [], [("a", "2")]]
    if pa.types.is_list(kind):
        return [["b", None, "a"], [], ["c", "c"]]
    if pa.types.is_struct(kind):
        return [{"bstart": 1, "bend": 4}, {"bstart": 2, "bend": 2}, {"bstart": 0, "bend": 9}]
    return ["a", "", "B b"] if pa.types.is_string(kind) else [1, 5, 0]


def test_a_function_of_the_project_is_computed_on_spark_with_its_helpers(
    spark: Any, tmp_path: Path
) -> None:
    catalog = Project.load(write_shop(tmp_path / "shop")).catalog
    register_functions(spark, [catalog["points"]])
    assert spark.sql("SELECT points(id) AS p FROM range(3)").collect() == [(1,), (4,), (7,)]


def test_a_missing_function_is_named_before_anything_runs(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "views" / "revenue.sql", "points(c.id)", "pionts(c.id)")
    with pytest.raises(FunctionMissingError) as caught:
        Project.load(root).plan()
    assert "points" in caught.value.similar


def test_a_changed_function_is_detected_before_a_view_runs(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    planned = Project.load(root).plan()["revenue"].key.functions
    Project.load(root).catalog.verify("revenue", planned)
    edit(root / "functions.py", "FACTOR = 3", "FACTOR = 5")
    with pytest.raises(FunctionChangedError, match=r"its helper functions\.py:FACTOR changed"):
        Project.load(root).catalog.verify("revenue", planned)


def test_a_helper_in_another_file_counts(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "helpers.py").write_text("def twice(x):\n    return x + x\n\nUNUSED = 1\n")
    edit(root / "functions.py", "import pyarrow as pa", "import pyarrow as pa\nimport helpers")
    edit(root / "functions.py", "scale(ids), 1", "scale(ids), helpers.twice(1)")
    before = Project.load(root).catalog.part("points")
    edit(root / "helpers.py", "UNUSED = 1", "UNUSED = 2")
    assert Project.load(root).catalog.part("points") == before
    edit(root / "helpers.py", "x + x", "2 * x")
    assert Project.load(root).catalog.part("points").helpers != before.helpers


def test_only_the_packages_that_a_function_uses_count(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "functions.py", "import pyarrow as pa\n", "import pyarrow as pa\nimport json\n")
    assert set(Project.load(root).catalog.part("points").packages) == {"pyarrow"}
    edit(root / "functions.py", "scale(ids), 1", "scale(ids), len(json.dumps(1))")
    part = Project.load(root).catalog.part("points")
    assert part.packages["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_a_project_may_not_replace_a_standard_function() -> None:
    @function("STRING", returns="STRING", name="stable_id")
    def mine(texts: pa.Array) -> pa.Array:
        return texts

    with pytest.raises(InvalidFunctionError, match="choose another name"):
        project_catalog([mine], origin="functions.py", root=Path())


def test_a_project_may_not_replace_a_function_of_spark() -> None:
    @function("STRING", returns="STRING")
    def upper(texts: pa.Array) -> pa.Array:
        return texts

    with pytest.raises(InvalidFunctionError, match="Spark has a function of this name"):
        project_catalog([upper], origin="functions.py", root=Path())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("STRNG",), {"returns": "STRING"}, "'STRNG' is not a Spark SQL type"),
        (("STRING",), {"returns": "STRING", "volatility": "often"}, "'often' is not a valid"),
        ((), {"returns": "STRING"}, "at least one argument"),
    ],
)
def test_a_wrong_declaration_is_refused(
    arguments: tuple[str, ...], options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidFunctionError, match=message):
        function(*arguments, **options)(lambda x: x)  # type: ignore[arg-type]


def test_a_function_that_returns_another_number_of_rows_is_refused() -> None:
    @function("STRING", returns="STRING")
    def half(texts: pa.Array) -> pa.Array:
        return texts.slice(0, len(texts) // 2)

    with pytest.raises(InvalidFunctionError, match="it returned 1 rows for 2"):
        half(pa.array(["a", "b"]))


def test_function_names_are_case_insensitive(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "views" / "revenue.sql", "points(c.id)", "POINTS(c.id)")
    assert set(Project.load(root).plan()["revenue"].key.functions) == {"points"}


def test_no_standard_name_is_a_function_of_sqlglot() -> None:
    for name in NAMES:
        assert isinstance(sqlglot.parse_one(f"{name}(a)", dialect="spark"), exp.Anonymous)
