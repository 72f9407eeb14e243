"""A project has the same hashes in every process, whatever the seed of its hash maps."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.pipeline.shop import write_shop

SCRIPT = """
import json, sys
from headrace.pipeline import Project
bundle = Project.load(sys.argv[1]).plan()
views = {v.name: [v.plan_fingerprint, v.skip_key] for v in bundle.views.values()}
print(json.dumps([bundle.id, views]))
"""


def hashes_of(root: Path, *, seed: int) -> object:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, root],
        env={**os.environ, "PYTHONHASHSEED": str(seed), "TZ": f"Etc/GMT+{seed % 12}"},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(result.stdout)


def test_hashes_are_the_same_in_every_process(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    assert hashes_of(root, seed=1) == hashes_of(root, seed=2) == hashes_of(root, seed=3)


def test_hashes_do_not_depend_on_the_folder_of_the_project(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "here" / "shop")
    elsewhere = tmp_path / "there" / "project"
    shutil.copytree(root, elsewhere, copy_function=shutil.copyfile)  # with other modification times
    assert hashes_of(root, seed=1) == hashes_of(elsewhere, seed=2)


def test_the_22_queries_have_the_same_hashes_in_every_process(tpch: Path) -> None:
    assert hashes_of(tpch, seed=1) == hashes_of(tpch, seed=9)
