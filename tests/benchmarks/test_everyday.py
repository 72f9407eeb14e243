"""The benchmark of everyday tasks: its contestants return the same answers."""

from pathlib import Path

from benchmarks.everyday import measure_counts, measure_starts, write_small_files


def test_the_contestants_agree(tmp_path: Path) -> None:
    table = write_small_files(tmp_path / "small", 5)
    assert all(time > 0 for time in measure_counts(table, files=5, repeats=1))
    assert all(time > 0 for time in measure_starts(table, repeats=1))
