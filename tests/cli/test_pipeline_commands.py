"""The commands that plan pipelines, in a separate process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import headrace
from tests.waiting import wait_until

HEADRACE = [sys.executable, "-m", "headrace"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli") / "shop"
    assert headrace("init", str(folder)).returncode == 0
    return str(folder)


def test_a_new_project_can_be_planned_at_once(project: str) -> None:
    result = headrace("plan", project)
    assert result.returncode == 0
    assert "revenue_by" in result.stdout
    assert "orders 3/4" in result.stdout


def test_a_plan_as_json_is_a_bundle(project: str) -> None:
    bundle = json.loads(headrace("plan", project, "--json", "--pin", "orders=1").stdout)
    assert bundle["order"] == ["kept_orders", "order_sizes", "revenue_by_city"]
    assert bundle["pins"]["orders"]["version"] == 1


def test_a_variable_changes_what_is_read(project: str) -> None:
    words = ("plan", project, "--json", "--var", "first_day=2026-01-04")
    views = json.loads(headrace(*words).stdout)["views"]
    units = {unit["source"]: unit for unit in views["revenue_by_city"]["units"]}
    assert units["orders"]["where"] == "day >= DATE '2026-01-04'"
    assert units["orders"]["files_kept"] == 1


def test_a_new_project_gives_the_same_rows_on_both_runners(project: str) -> None:
    for engine in ("spark", "datafusion"):
        result = headrace("check", project, "--engine", engine)
        assert (result.returncode, result.stderr) == (0, "")
        assert "3 views are correct" in result.stdout


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT amuont FROM orders", "odd.sql line 1 column 8: amuont: there is no such column"),
        ("SELECT amuont FROM orders", "did you mean amount?"),
        ("SELECT id\nFROM ordres", "odd.sql line 2 column 6: view odd reads ordres"),
        ("SELECT uper(city) FROM customers", "odd.sql line 1 column 8: view odd calls uper"),
        ("SELECT id FROM orders GROUP BY 3", "odd.sql line 1 column 32: 3: there is no column 3"),
        ("SELECT id FROM orders WHERE amount", "a condition is a BOOLEAN, not DECIMAL(12,2)"),
        ("SELECT size_of_order(id, id) FROM orders", "it takes (DECIMAL(12,2)) -> STRING"),
    ],
)
def test_a_mistake_is_reported_with_its_place_before_running(
    tmp_path: Path, query: str, message: str
) -> None:
    folder = tmp_path / "shop"
    assert headrace("init", str(folder)).returncode == 0
    (folder / "views" / "odd.sql").write_text(query)
    for command in ("check", "plan"):
        result = headrace(command, str(folder))
        assert result.returncode == 1
        assert message in " ".join(result.stderr.split())


def test_a_view_that_only_spark_runs_fails_the_check_for_datafusion(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert headrace("init", str(folder)).returncode == 0
    (folder / "views" / "odd.sql").write_text(
        "SELECT id, sha2(xpath('<a/>', '//a'), 256) AS x FROM orders"
    )
    result = headrace("check", str(folder))
    assert result.returncode == 0
    assert "on Spark only: odd" in result.stdout
    assert headrace("check", str(folder), "--engine", "datafusion").returncode == 1


def test_lineage_shows_where_columns_come_from(project: str) -> None:
    assert "revenue <- orders.amount" in headrace("lineage", "revenue_by_city", project).stdout
    lineage = json.loads(headrace("lineage", "revenue_by_city", project, "--json").stdout)
    assert lineage["columns"][3] == {"name": "revenue", "sources": ["orders.amount"]}
    assert lineage["roots"]["columns"]["revenue"] == ["orders.amount"]


def test_functions_are_listed_with_their_signatures(project: str) -> None:
    listed = json.loads(headrace("functions", project, "--json").stdout)
    own = next(function for function in listed if function["origin"] == "functions.py")
    assert own["name"] == "size_of_order"
    assert own["signature"] == "(DECIMAL(12,2)) -> STRING"
    assert len(listed) == 20


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("plan", "nowhere"), "PROJECT_NOT_FOUND", 8),
        (("plan", "{project}", "--pin", "orders"), "INVALID_ARGUMENT", 2),
        (("plan", "{project}", "--pin", "orders=1", "--pin", "orders=2"), "PIN_CONFLICT", 8),
        (("plan", "{project}", "--pin", "orders=99"), "VERSION_NOT_FOUND", 3),
        (("plan", "{project}", "--var", "first=1"), "INVALID_ARGUMENT", 2),
        (("plan", "{project}", "--engine", "duckdb"), "INVALID_ARGUMENT", 2),
        (("lineage", "nothing", "{project}"), "INVALID_ARGUMENT", 2),
        (("init", "{project}"), "INVALID_ARGUMENT", 2),
        (("init", ""), "INVALID_ARGUMENT", 2),
        (("init", "{project}/headrace.toml"), "INVALID_ARGUMENT", 2),
        (("init", "{project}/headrace.toml/below"), "INVALID_ARGUMENT", 2),
    ],
)
def test_an_error_has_its_code_and_status(
    project: str, words: tuple[str, ...], code: str, status: int
) -> None:
    result = headrace(*(word.format(project=project) for word in words))
    assert (result.returncode, result.stdout) == (status, "")
    assert result.stderr.startswith(f"error {code}")
    assert "Traceback" not in result.stderr


def test_a_bundle_does_not_depend_on_where_it_is_planned(project: str, tmp_path: Path) -> None:
    bundle_id = json.loads(headrace("plan", project, "--json").stdout)["id"]
    elsewhere = subprocess.run(
        [*HEADRACE, "plan", "--json"], cwd=project, check=True, capture_output=True, text=True
    )
    assert json.loads(elsewhere.stdout)["id"] == bundle_id
    assert not any(tmp_path.iterdir())


def test_an_interrupt_while_spark_starts_leaves_no_process(project: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    submit = tmp_path / "bin" / "spark-submit"
    submit.write_text(f"#!/bin/sh\nsleep 60 &\ntouch {tmp_path}/started\nwait\n")
    submit.chmod(0o755)
    with subprocess.Popen(
        [*HEADRACE, "run", project],
        env={**os.environ, "SPARK_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        wait_until((tmp_path / "started").exists, within_s=60)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)  # until the last holder of the pipe has ended
    assert (process.returncode, output) == (130, "interrupted\n")


def test_a_view_that_only_spark_can_check_is_not_called_correct(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert headrace("init", str(folder)).returncode == 0
    (folder / "views" / "odd.sql").write_text("SELECT id + true AS n FROM orders")
    lines = headrace("check", str(folder)).stdout.splitlines()
    assert lines[0].startswith("3 views are correct for spark")
    assert lines[1] == "1 more can be checked by Spark only: add --with-spark"
    assert lines[2].startswith("on Spark only: odd: ")


def test_verify_uses_the_runner_of_the_results_and_says_if_nothing_was_verified(
    tmp_path: Path,
) -> None:
    shop = str(tmp_path / "shop")
    assert headrace("init", shop).returncode == 0
    assert headrace("run", shop, "--engine", "datafusion").returncode == 0
    assert headrace("verify", shop).stdout.count("equal to run") == 2
    (tmp_path / "shop" / "views" / "order_sizes.sql").write_text("SELECT 2 AS two FROM orders")
    result = headrace("verify", shop, "--select", "order_sizes")
    assert "nothing was verified: a run on datafusion" in " ".join(result.stdout.split())
