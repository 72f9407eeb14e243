import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from tests.architecture.imports import (
    LIGHT_UNTIL_ASKED,
    STEPS,
    Module,
    modules,
    pipeline_room,
    violations,
)

PACKAGE = Path(headrace.__file__).parent


def broken(name: str, source: str) -> list[str]:
    return list(violations(Module(name, ast.parse(source))))


def test_every_import_goes_down_and_heavy_libraries_are_confined() -> None:
    assert [broken for module in modules(PACKAGE) for broken in violations(module)] == []


def test_every_room_has_a_step() -> None:
    placed = {room for step in STEPS for room in step}
    assert {module.room for module in modules(PACKAGE)} - {"headrace"} <= placed


def test_every_pipeline_room_and_module_has_a_step() -> None:
    names = {path.stem for path in (PACKAGE / "pipeline").iterdir() if path.name[0] != "_"}
    assert {name for name in names if pipeline_room(f"pipeline.{name}") is None} == set()


def test_only_one_module_gets_a_local_path_from_a_store() -> None:
    askers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "local_path"
    }
    wrappers = {f"storage/{name}.py" for name in ("counting", "retrying", "routing")}
    assert askers - wrappers == {"storage/local_file.py"}


def test_every_room_says_what_enters_and_what_leaves() -> None:
    silent = [
        path.parent.name
        for path in PACKAGE.glob("*/__init__.py")
        if len((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")) < 3
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("phases.scan", "def plan(self):\n    return open('x').read()"),
        ("phases.scan", "import os"),
        ("phases.scan", "from pathlib import Path"),
        ("phases.scan", "from headrace.storage.local import LocalStore"),
        ("phases.scan", "from headrace.engines.arrow.executor import ArrowExecutor"),
        ("log.segment", "from headrace.plan.batch import Batch"),
        ("protocol.key", "from headrace.expr.node import Column"),
        ("engines.arrow.executor", "import pyspark"),
        ("engines.arrow.executor", "import sqlglot"),
        ("pipeline.sources.delta", "from headrace.pipeline.execution.run import run_project"),
        ("pipeline.runs.store", "from headrace.pipeline.output.note import last_note"),
        ("pipeline.bundle.key", "from headrace.pipeline.page.view_graph import Graph"),
        ("pipeline.page.graph", "from headrace.pipeline.api import Project"),
        ("scan.run", "def f():\n    import json"),
        ("scan.run", "from . import scan"),
        ("scan.run", "from typing import TYPE_CHECKING"),
    ],
)
def test_the_check_reports_a_violation(name: str, source: str) -> None:
    assert broken(name, source) != []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("wiring", "def f():\n    from headrace.expr.parse import parse_predicate"),
        ("engines.arrow.columnar", "import pyarrow.parquet as pq"),
        ("scan.run", "from headrace.phases.phase import Phase"),
        ("pipeline.execution.run", "from headrace.pipeline.output.note import last_note"),
        ("pipeline.page.project_page", "from headrace.pipeline.api import Project"),
    ],
)
def test_the_check_accepts_valid_code(name: str, source: str) -> None:
    assert broken(name, source) == []


def test_importing_headrace_is_fast_and_loads_no_heavy_library() -> None:
    script = (
        "import sys, time; start = time.process_time(); import headrace;"
        "print((time.process_time() - start) * 1000); print(*sys.modules)"
    )
    best_ms, loaded = float("inf"), set[str]()
    for _ in range(25):  # most tries are slow next to other tests; one fast try is enough
        out = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        best_ms, loaded = min(best_ms, float(out[0])), set(out[1].split())
        if best_ms < 150:
            break
    heavy = {"pyspark", "datafusion", "deltalake", "pyarrow.flight", *LIGHT_UNTIL_ASKED}
    assert loaded & heavy == set()
    assert best_ms < 300
