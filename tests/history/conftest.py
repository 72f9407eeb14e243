"""Silence the log: property tests read thousands of logs, many of which cause warnings."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _quiet(quiet_log: None) -> None:
    """Apply to all tests in this folder."""
