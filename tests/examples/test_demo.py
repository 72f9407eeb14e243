"""`make demo` works. Everything it shows is real, so this takes a minute."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.timeout(900)
def test_the_demo_streams_runs_skips_explains_replays_and_leaves_a_page(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(DEMO)],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    expected = [
        "delta-rs says the same",
        "3 ran, 1 inlined",
        "3 skipped, 1 inlined",
        "february: run",
        "source events: 4 files added",
        "2 ran, 1 skipped, 1 inlined",
        "by STABLE_SET",
        "3 ran, 1 inlined",
        "demo-lake/cities/headrace.html",
    ]
    place = 0
    for words in expected:  # in this order
        place = result.stdout.find(words, place)
        assert place >= 0, f"{words!r} is missing, or too early:\n{result.stdout}"
    assert (tmp_path / "demo-lake" / "cities" / "headrace.html").is_file()
