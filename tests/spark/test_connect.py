import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
def test_pinned_tables_are_read_through_spark_connect() -> None:
    suite = Path(__file__).parent / "connect_suite.py"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(suite)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-8000:]
