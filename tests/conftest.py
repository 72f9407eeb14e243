"""Shared by all tests: the Hypothesis profile, and fixtures for tables stored elsewhere."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine

from tests.effort import EXAMPLES

pytest_plugins = ["tests.emulator.fixture"]

# Shrinking must end, and report its result, well before pytest's own timeout.
engine.MAX_SHRINKING_SECONDS = 60

settings.register_profile(
    "headrace",
    max_examples=EXAMPLES,
    deadline=None,
    # In CI, the same tree must always give the same result; exploration is left to soak runs and
    # developers.
    derandomize="CI" in os.environ and "HEADRACE_EXAMPLES" not in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("headrace")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "property: a Hypothesis property; a soak runs these for long"
    )


def _folder(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def fixture_tables() -> Path:
    """The folder of real Delta tables and their index."""
    return _folder("HEADRACE_TABLES")


@pytest.fixture(scope="session")
def fixture_indextables() -> Path:
    """The folder of real IndexTables tables."""
    return _folder("HEADRACE_INDEXTABLES")


@pytest.fixture(scope="module")
def quiet_log() -> Iterator[None]:
    """Silence warnings: random histories cause many, which are tested elsewhere and fill memory."""
    logger = logging.getLogger("headrace")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark session per worker, shared by all tests: starting one takes seconds."""
    from tests.spark.running import running_session  # noqa: PLC0415  (others do without Spark)

    with running_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
