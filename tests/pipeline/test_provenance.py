"""Another release of Headrace: views that it computes differently run again on DataFusion."""

import ast
import os
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

import headrace
from headrace import Table
from headrace.pipeline import CauseKind, Project, explain_change
from headrace.pipeline.translation.provenance import (
    KERNELS,
    PACKAGES,
    RUNNER_MODULES,
    computation_of,
    imported_modules,
)
from headrace.pipeline.translation.table_call import TableCall
from tests.pipeline.shop import replace_views, write_shop

PACKAGE = Path(headrace.__file__).parent
CODE = sorted((PACKAGE / "pipeline" / "translation").rglob("*.py")) + sorted(
    (PACKAGE / "rows").rglob("*.py")
)
VIEWS = {
    "listed": "SELECT transform(array(day), x -> x + 1) AS a FROM weather",
    "loud": "SELECT upper('aB') AS a FROM weather",
    "plain": "SELECT degrees AS a FROM weather",
    "log": "SELECT upper('aB') AS a FROM weather",
    "reader": "SELECT count(*) AS a FROM plain",
}
RUN = """\
import sys, msgspec
from headrace.pipeline import Project
project = Project.load(sys.argv[1])
record = project.run(engine="datafusion")
record.check()
views = {name: (view.status.value, view.reason) for name, view in record.views.items()}
keys = {view.name: view.skip_key for view in project.plan(engine="spark").views.values()}
planned_before = project.run(
    engine="datafusion", bundle=sys.argv[2], select=["listed", "plain"], full_refresh=True
)
keyed = {name: view.skip_key is not None for name, view in planned_before.views.items()}
print(msgspec.json.encode([views, keys, keyed]).decode())
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write_shop(tmp_path / "shop")
    append = {"log": "-- @write append\n-- @append all\n"}
    texts = {n: f"-- @materialise output\n{append.get(n, '')}{sql}\n" for n, sql in VIEWS.items()}
    replace_views(root, texts)
    return root


def rows(root: Path, view: str) -> list[object]:
    table = Table(root / "output" / view).snapshot().rows().read_all()
    return [row["a"] for row in table.to_pylist()]


def other_release(place: Path) -> Path:
    """Copy Headrace, with another text of its array kernels and a wrong `upper`."""
    shutil.copytree(PACKAGE, place / "headrace", ignore=shutil.ignore_patterns("__pycache__"))
    translation = place / "headrace" / "pipeline" / "translation"
    for file, before, after in (
        ("kernels/higher_order.py", "\n\n\ndef ", "\n\n_OTHER = 1\n\n\ndef "),
        ("catalogue/text.py", '"upper({0})"', '"lower({0})"'),
    ):
        text = (translation / file).read_text()
        assert before in text
        (translation / file).write_text(text.replace(before, after, 1))
    return place


class OtherRun(NamedTuple):
    """The outcome of a run by another release."""

    views: dict[str, tuple[str, str]]
    """By view: its status and the reason."""
    spark_keys: dict[str, str]
    keyed: dict[str, bool]
    """By view run from a bundle of this release: whether its result has a skip key."""


def run_release(place: Path, root: Path, bundle: str) -> OtherRun:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(root), bundle],
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(ran.stdout, type=OtherRun)


def test_only_views_that_a_release_computes_differently_run_again(
    shop: Path, tmp_path: Path
) -> None:
    spark = {v.name: v.skip_key for v in Project.load(shop).plan(engine="spark").views.values()}
    first = Project.load(shop).run(engine="datafusion")
    other = run_release(other_release(tmp_path / "other"), shop, first.bundle)
    views = other.views
    assert other.spark_keys == spark, "Spark runs the author's text, whatever Headrace is"
    assert views["loud"] == ("ran", "Headrace now translates it differently")
    called = "Headrace now computes functions that it calls differently"
    assert views["listed"] == ("ran", called)
    assert {views["plain"][0], views["reader"][0]} == {"skipped"}
    assert views["log"][0] == "skipped"
    assert "not appended twice" in views["log"][1]
    assert rows(shop, "loud")[0] == "ab"
    assert {n: other.keyed[n] for n in ("listed", "plain")} == {"listed": False, "plain": True}
    again = Project.load(shop).run(engine="datafusion")
    assert again.views["loud"].status == "ran"
    assert rows(shop, "loud")[0] == "AB"
    assert len(rows(shop, "log")) == len(rows(shop, "plain"))


def test_a_result_without_recorded_code_does_not_count_as_current(
    shop: Path,
) -> None:
    now = Project.load(shop).plan(engine="datafusion")["loud"].key
    then = msgspec.structs.replace(now, computation={})
    assert then.skip_key() != now.skip_key()
    [cause] = explain_change(then, now)
    assert (cause.kind, cause.text) == (
        CauseKind.CODE,
        "how Headrace computed it was not recorded",
    )


def test_another_version_of_a_package_is_named(shop: Path) -> None:
    now = Project.load(shop).plan(engine="datafusion")["plain"].key
    packages = now.computation[PACKAGES]
    assert f"pyarrow {metadata.version('pyarrow')}" in packages
    older = {**now.computation, PACKAGES: "pyarrow 1.0.0"}
    [cause] = explain_change(msgspec.structs.replace(now, computation=older), now)
    assert cause.text == f"packages were pyarrow 1.0.0 and are {packages}"


@pytest.mark.parametrize("file", CODE, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_every_import_of_fingerprinted_code_is_found(file: Path) -> None:
    source = file.read_text()
    expected: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            expected |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            expected |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert expected <= imported_modules(source)


def test_the_listed_modules_of_the_runner_exist() -> None:
    missing = [name for name in RUNNER_MODULES if find_spec(name) is None]
    assert missing == []


def test_kernels_inside_of_lambdas_and_of_the_arguments_of_table_functions_count() -> None:
    kernel = '"spark_square_root||double|double"(1)'
    body = f"0x{kernel.encode().hex()}"
    inside = f'"spark_transform|{body}|array<double>|array<double>"(a)'
    without = '"spark_transform|v0|array<double>|array<double>"(a)'
    assert computation_of(inside)[KERNELS] != computation_of(without)[KERNELS]
    call = TableCall("f", (kernel,))
    assert KERNELS in computation_of(f'SELECT * FROM "{call.relation}"')
