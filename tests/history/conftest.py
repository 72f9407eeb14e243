"""Property tests read thousands of logs, many of them with something to warn of."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _quiet(quiet_log: None) -> None:
    """For all tests of this folder."""
