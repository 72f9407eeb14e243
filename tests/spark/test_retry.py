"""Spark tries tasks again, and the counts stay exact."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
def test_tasks_that_are_tried_again_count_once() -> None:
    suite = Path(__file__).with_name("retry_suite.py")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(suite)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:]
