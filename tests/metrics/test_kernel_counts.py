"""The counts of another implementation's replay, on the same tables.

delta-kernel splits a scan differently (it replays a manifest with inline adds sequentially), so
its two halves are added up. Its names on the left, ours on the right:

    selected               adds_emitted
    pred_filtered          rows_filtered_by_partition_pruning + rows_filtered_by_data_skipping
    removes                removes_processed
    non_file               non_file_action_rows, and the rows of a manifest that names sidecars:
                           it holds no file actions, and is not replayed here
    add_seen               the other rows: what is neither a remove nor without a file is an add
                           (the checkpoints of these tables hold no removes)
    add_from_delta         the same of the phase that replays the commits
"""

import csv
from pathlib import Path

import pytest

from headrace import Table
from headrace.metrics.counts import Counts
from headrace.phases import CommitReplay
from headrace.scan.phase_run import PhaseRun
from tests.metrics.kernel_table import find_table, manifest_rows

_TEXT = (Path(__file__).parent / "kernel_metrics.csv").read_text(encoding="utf-8")
CASES = list(csv.DictReader(_TEXT.splitlines()))


def total(case: dict[str, str], name: str) -> int:
    return sum(int(case.get(f"{half}_{name}") or 0) for half in ("seq", "par"))


def adds_seen(counts: Counts) -> int:
    return counts.total_metadata_rows - counts.non_file_action_rows - counts.removes_processed


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['table']} {c['predicate']}".strip())
def test_the_counts_equal_those_of_delta_kernel(
    case: dict[str, str], fixture_tables: Path, tmp_path: Path
) -> None:
    tables = fixture_tables / "delta-kernel-rs" / "data"
    table = find_table(case["table"], tables=tables, workspace=tmp_path)
    if table is None:
        pytest.skip(f"{case['table']} is not among the fixture tables")
    opened = Table(table)
    scan = opened.snapshot().scan(where=case["predicate"] or None, strategy="reverse")
    size_bytes = sum(file.size_bytes for file in scan)
    counts = scan.metrics.counts
    assert counts.adds_emitted == total(case, "selected")
    assert size_bytes == total(case, "selected_bytes")
    assert counts.removes_processed == total(case, "removes")
    filtered = counts.rows_filtered_by_partition_pruning + counts.rows_filtered_by_data_skipping
    assert filtered == total(case, "pred_filtered")
    assert counts.non_file_action_rows + manifest_rows(table) == total(case, "non_file")
    assert adds_seen(counts) == total(case, "add_seen")
    commits = scan.run().phase
    assert isinstance(commits, CommitReplay)
    with PhaseRun(commits, executor=opened.executor) as run:
        list(run)
    assert adds_seen(run.counts) == total(case, "add_from_delta")
