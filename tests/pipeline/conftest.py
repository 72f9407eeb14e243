"""What tests of pipelines share: the tables of TPC-H, made once a session."""

import shutil
from pathlib import Path

import pytest

from examples.tpch.lake import make_lake

TPCH = Path(__file__).parents[2] / "examples" / "tpch"


@pytest.fixture(scope="session")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of TPC-H with small tables."""
    root = tmp_path_factory.mktemp("tpch") / "project"
    shutil.copytree(TPCH, root, ignore=shutil.ignore_patterns("lake", "__pycache__"))
    make_lake(root / "lake", scale=0.01)
    return root
