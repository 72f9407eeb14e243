"""The settings that Spark would start with are part of a key, although Spark is not started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.pipeline.project.launch_setting import launch_settings
from tests.pipeline.shop import write_shop

ESCAPED = "spark.sql.parser.escapedStringLiterals"
PLAN = """
import sys
from headrace.pipeline import Project
print(Project.load(sys.argv[1]).plan(engine="spark")["forecast"].skip_key)
"""


def write_defaults(folder: Path, text: str) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / "spark-defaults.conf").write_text(text)
    return {"SPARK_CONF_DIR": str(folder)}


def key(root: Path, environment: dict[str, str]) -> str:
    """Plan in a process without a session."""
    command = [sys.executable, "-c", PLAN, str(root)]
    variables = {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "line", [f"{ESCAPED} true", f"{ESCAPED}=true", f"  {ESCAPED} : true ", f"{ESCAPED}\ttrue"]
)
def test_defaults_are_read_from_the_folder_of_the_environment(tmp_path: Path, line: str) -> None:
    environment = write_defaults(tmp_path / "conf", f"# spark.sql.a b\n\n{line}\nother x\n")
    assert launch_settings(environment) == {ESCAPED: "true"}


@pytest.mark.parametrize(
    "arguments",
    [f"--conf {ESCAPED}=true pyspark-shell", f"-c '{ESCAPED}=true'", f"--conf={ESCAPED}=true"],
)
def test_arguments_take_precedence_over_defaults(tmp_path: Path, arguments: str) -> None:
    environment = write_defaults(tmp_path / "conf", f"{ESCAPED} false\nspark.sql.a b\n")
    environment["PYSPARK_SUBMIT_ARGS"] = arguments
    assert launch_settings(environment) == {ESCAPED: "true", "spark.sql.a": "b"}


def test_a_file_of_properties_replaces_the_defaults(tmp_path: Path) -> None:
    environment = write_defaults(tmp_path / "conf", f"{ESCAPED} false\n")
    (tmp_path / "mine").write_text("spark.sql.a b\n")
    environment["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {tmp_path / 'mine'} pyspark-shell"
    assert launch_settings(environment) == {"spark.sql.a": "b"}


def test_without_files_and_arguments_there_are_no_settings(tmp_path: Path) -> None:
    assert launch_settings({"SPARK_HOME": str(tmp_path)}) == {}
    assert launch_settings({"SPARK_HOME": str(tmp_path), "PYSPARK_SUBMIT_ARGS": "'open"}) == {}


def test_a_default_that_can_change_results_changes_keys(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    before = key(root, {})
    harmless = write_defaults(tmp_path / "harmless", "spark.sql.shuffle.partitions 4\n")
    assert key(root, harmless) == before
    assert key(root, write_defaults(tmp_path / "conf", f"{ESCAPED} true\n")) != before
