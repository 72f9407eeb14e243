"""If few files of a checkpoint are removed, the runs between them are returned without a copy."""

import json
from pathlib import Path

import pytest

from headrace import Table
from headrace.errors import PartitionValueError
from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history

FILES = 10_000


def lake(root: Path, *, removed: list[int], odd: dict[int, str] | None = None) -> Table:
    """Write a checkpoint of many files, and a commit that removes some of them."""
    lines = opening()
    fields = [{"name": "n", "type": "integer", "nullable": True, "metadata": {}}]
    lines[1]["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    lines[1]["metaData"]["partitionColumns"] = ["n"]
    adds: list[Line] = [add(f"f{i}", size=i) for i in range(FILES)]
    for i, line in enumerate(adds):
        line["add"]["partitionValues"] = {"n": (odd or {}).get(i, str(i % 7))}
    history = [[*lines, *adds], [remove(f"f{i}") for i in removed]]
    write_history(root, history)
    write_checkpoint(root, 0, state_at(history, 0), Shape(form=Form.CLASSIC, row_group_rows=5000))
    return Table(root)


@pytest.mark.parametrize(
    "removed",
    [[], [0], [FILES - 1], [5000], [4999, 5000], [0, 1, FILES - 1], list(range(0, FILES, 3))],
)
def test_batches_have_the_files_of_iteration_in_their_order(
    tmp_path: Path, removed: list[int]
) -> None:
    scan = lake(tmp_path, removed=removed).snapshot().scan(leaf_parallelism=1)
    batches = list(scan.batches())
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [
        (row["path"], row["size_bytes"], row["typed_partition_values"]["n"]) for row in rows
    ] == [(file.path, file.size_bytes, file.typed_partition_values["n"]) for file in scan]
    assert len(rows) == FILES - len(removed) == scan.count()
    assert all(batch.num_rows for batch in batches)


def test_few_gaps_leave_runs_and_many_gaps_are_copied(tmp_path: Path) -> None:
    # The first row group also holds rows other than adds, so it is always copied.
    few = lake(tmp_path / "few", removed=[2000, 7000]).snapshot().scan(leaf_parallelism=1)
    assert [batch.num_rows for batch in few.batches()] == [4997, 2002, 2997, 2]
    every_hundredth = list(range(0, FILES, 100))
    many = lake(tmp_path / "many", removed=every_hundredth).snapshot().scan(leaf_parallelism=1)
    assert [batch.num_rows for batch in many.batches()] == [4948, 4950, 2]


def test_a_limit_may_end_within_a_run(tmp_path: Path) -> None:
    table = lake(tmp_path, removed=[2000, 7000])
    scan = table.snapshot().scan(limit=8000, leaf_parallelism=1)
    assert [batch.num_rows for batch in scan.batches()] == [4997, 2002, 1001]


def test_damage_to_a_removed_file_does_not_matter(tmp_path: Path) -> None:
    table = lake(tmp_path / "gone", removed=[7000], odd={7000: "many"})
    assert sum(batch.num_rows for batch in table.snapshot().scan().batches()) == FILES - 1
    table = lake(tmp_path / "live", removed=[7000], odd={7001: "many"})
    with pytest.raises(PartitionValueError):
        list(table.snapshot().scan().batches())
