"""Tests that need a session of their own: task retries, and a session that knows nothing yet."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
def test_a_session_of_its_own() -> None:
    suite = Path(__file__).with_name("own_session_suite.py")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(suite)]
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-8000:]
