"""Shared by the pipeline tests: the TPC-H tables, and a check of every plan."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.tpch.lake import make_lake
from headrace.pipeline.analysis.planning_session import Planned, PlanningSession
from tests.pipeline.canonical import check_canonical
from tests.pipeline.shop import write_shop

TPCH = Path(__file__).parents[2] / "examples" / "tpch"


@pytest.fixture(scope="session")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The TPC-H project with small tables."""
    root = tmp_path_factory.mktemp("tpch") / "project"
    shutil.copytree(TPCH, root, ignore=shutil.ignore_patterns("lake", "__pycache__"))
    make_lake(root / "lake", scale=0.01)
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small project, for tests that change it."""
    return write_shop(tmp_path / "shop")


@pytest.fixture(scope="session", autouse=True)
def every_plan_is_checked() -> Iterator[None]:
    """Check that the canonical form of every plan made in a pipeline test is the same query."""
    plan_query = PlanningSession.plan
    known: set[str] = set()

    def plan_checked(session: PlanningSession, sql: str) -> Planned:
        planned = plan_query(session, sql)
        key = f"{sql} {planned.schema}"
        if key not in known:
            known.add(key)
            check_canonical(session.context, planned)
        return planned

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlanningSession, "plan", plan_checked)
        yield
