"""A run on Spark that fails at planning starts no JVM, even with views built in Python.

Each run is a separate process whose `java` is a script that records that it was started.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.checking.tables import write_project

_JAVA = """\
#!/bin/sh
touch '{marker}'
echo 'openjdk version "17.0.1" 2021-10-19' >&2
test "$1" = -version
"""
_BUILDER = """\
from headrace.pipeline import view


@view(reads=["orders"])
def built(spark):
    return spark.table("orders").select("id")
"""


def run_project(tmp_path: Path, views: dict[str, str]) -> tuple[int, str, bool]:
    """Return the exit status of a run, its messages, and whether it started Java."""
    root = write_project(tmp_path / "project")
    for name, text in views.items():
        (root / "views" / name).write_text(text)
    marker = tmp_path / "started"
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(_JAVA.format(marker=marker))
    java.chmod(0o755)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.parents[1]),
        "PATH": f"{java.parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "headrace", "run", str(root), "--engine", "spark"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    return result.returncode, result.stderr, marker.exists()


@pytest.mark.parametrize(
    "views",
    [
        {"bad.sql": "-- @materialise output\nSELECT amuont FROM orders"},
        {"bad.sql": "-- @materialise output\nSELECT explode(tags) AS t, amuont FROM orders"},
        {
            "built.py": _BUILDER,
            "last.sql": "-- @materialise output\nSELECT b.id, o.amuont FROM built b JOIN orders o",
        },
    ],
    ids=["planned", "unplanned", "behind a builder"],
)
def test_a_run_that_fails_at_planning_starts_no_jvm(tmp_path: Path, views: dict[str, str]) -> None:
    status, errors, started_java = run_project(tmp_path, views)
    assert (status, started_java) == (1, False)
    assert "did you mean amount?" in errors


def test_a_run_that_passes_planning_starts_java(tmp_path: Path) -> None:
    """Prove that the test above can detect a start of Java."""
    view = "-- @materialise output\nSELECT id FROM orders"
    status, _, started_java = run_project(tmp_path, {"good.sql": view})
    assert started_java
    assert status != 0, "what stands in for Java is none"
