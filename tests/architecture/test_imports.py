import ast
import subprocess
import sys

import pytest

from tests.architecture.imports import (
    LIGHT_UNTIL_ASKED,
    PACKAGE,
    PURE,
    SPILLING_MODULES,
    STEPS,
    SUBROOM_STEPS,
    Module,
    is_impure,
    modules,
    pipeline_room,
    reached_modules,
    violations,
)


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


def test_every_module_with_a_step_in_its_room_exists() -> None:
    assert [
        f"{room}.{name}"
        for room, steps in SUBROOM_STEPS.items()
        for name in frozenset().union(*steps)
        if not list((PACKAGE / room.replace(".", "/")).glob(f"{name}*"))
    ] == []


def test_pure_rooms_reach_no_module_that_does_io() -> None:
    impure = {module.name for module in modules(PACKAGE) if is_impure(module.tree)}
    reached = reached_modules(PACKAGE)
    pure = {name for name in reached if name.partition(".")[0] in PURE}
    assert set().union(*(reached[name] for name in pure)) & impure == SPILLING_MODULES


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert {name for name, reached in reached_modules(PACKAGE).items() if name in reached} == set()


def test_only_one_module_gets_a_local_path_from_a_store() -> None:
    askers = {
        module.name
        for module in modules(PACKAGE)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "local_path"
    }
    wrappers = {f"storage.{name}" for name in ("counting", "retrying", "routing")}
    assert askers - wrappers == {"storage.local_file"}


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
        (
            "pipeline.runners.spark.runner",
            "from headrace.pipeline.runners.datafusion.file import write_rows",
        ),
        (
            "pipeline.translation.kernels.text",
            "from headrace.pipeline.translation.catalogue.text import ENTRIES",
        ),
        (
            "pipeline.translation.catalogue.text",
            "from headrace.pipeline.translation.call import translate_call",
        ),
        (
            "pipeline.translation.zone",
            "from headrace.pipeline.translation.kernels.time import shift",
        ),
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
        (
            "pipeline.translation.call",
            "from headrace.pipeline.translation.catalogue.text import ENTRIES",
        ),
        (
            "pipeline.translation.cast",
            "from headrace.pipeline.translation.kernels.time_text import date_text",
        ),
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
