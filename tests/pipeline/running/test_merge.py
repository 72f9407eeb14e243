"""Merge by key, embedded and on Spark: the same rows, in one commit."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from headrace import Snapshot, Table
from headrace.errors import InvalidResultError
from headrace.pipeline.output.write import OutputWrite, Replacement
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import WriteMode
from headrace.pipeline.runners.spark.folder import write_folder
from headrace.pipeline.runners.spark.table_merge import merge_on_spark
from tests.pipeline.running.output import Output, as_rows, rows

MakeOutput = Callable[..., Output]


@pytest.fixture(params=["embedded", "spark"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> MakeOutput:
    """Return a function that creates an output, merged by either runner."""
    runner = OnSpark(request.getfixturevalue("spark")) if request.param == "spark" else None
    return partial(Output, tmp_path / "t", runner=runner, write=WriteMode.MERGE, keys=("k",))


class OnSpark:
    """Writes and merges like the Spark runner."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def write(self, folder: Path, rows: pa.Table, partition_by: Sequence[str]) -> None:
        frame = self._spark.createDataFrame(rows)
        write_folder(frame, Place(folder), partition_by=partition_by)

    def merge(self, write: OutputWrite, snapshot: Snapshot | None) -> Replacement:
        return merge_on_spark(self._spark, write, snapshot, memory_bytes=1 << 30)


def test_a_merge_replaces_rows_by_key_and_adds_the_others(output: MakeOutput) -> None:
    table = output(partition_by=("part",))
    table.write(rows((1, "a", "x"), (2, "a", "x"), (4, None, "x")))
    version = table.write(rows((2, "b", "y"), (3, "b", "y"))).version
    assert table.rows() == as_rows((1, "a", "x"), (2, "b", "y"), (3, "b", "y"), (4, None, "x"))
    assert version == 1


@pytest.mark.parametrize("bad", [[(1, "a", "x"), (1, "b", "y")], [(None, "a", "x")]])
def test_a_merge_by_keys_that_identify_no_row_is_refused(
    output: MakeOutput, bad: list[Any]
) -> None:
    table = output()
    with pytest.raises(InvalidResultError, match="key"):
        table.write(rows(*bad))
    assert not (table.table / "_delta_log").exists()


def test_a_merge_matches_by_all_keys_also_by_one_that_is_a_partition(output: MakeOutput) -> None:
    table = output(keys=("part", "k"), partition_by=("part",))
    odd = "ä/ö 50% = x"
    table.write(rows((1, "a", "x"), (1, odd, "x"), (2, odd, "x")))
    table.write(rows((1, odd, "y")))
    assert table.rows() == as_rows((1, "a", "x"), (1, odd, "y"), (2, odd, "x"))


def test_a_merge_rewrites_only_files_that_have_a_key_of_a_new_row(output: MakeOutput) -> None:
    table = output(partition_by=("part",))
    table.write(rows((1, "a", "x"), (2, "a", "x"), (3, "b", "x")))
    before = {file.path: file.partition_values["part"] for file in live(table)}
    table.write(rows((2, "a", "y")))
    after = {file.path for file in live(table)}
    assert {part for path, part in before.items() if path not in after} == {"a"}


def test_a_merge_of_no_rows_changes_none_and_is_a_version(output: MakeOutput) -> None:
    table = output()
    table.write(rows((1, "a", "x")))
    assert table.write(rows()).version == 1
    assert table.rows() == as_rows((1, "a", "x"))


def test_a_merge_of_new_keys_alone_removes_nothing(output: MakeOutput) -> None:
    table = output()
    table.write(rows((1, "a", "x")))
    before = {file.path for file in live(table)}
    table.write(rows((7, "a", "y")))
    assert before < {file.path for file in live(table)}
    assert table.rows() == as_rows((1, "a", "x"), (7, "a", "y"))


def test_a_merge_of_other_columns_is_refused(output: MakeOutput) -> None:
    table = output()
    table.write(rows((1, "a", "x")))
    with pytest.raises(InvalidResultError, match="--full-refresh"):
        table.write(pa.table({"k": [1]}))


def test_a_merge_writes_its_changes_to_the_change_feed(output: MakeOutput) -> None:
    table = output(change_feed=True)
    table.write(rows((1, "a", "x"), (2, "a", "x")))
    table.write(rows((2, "a", "y"), (3, "a", "y")))
    feed = pa.table(DeltaTable(table.table).load_cdf(starting_version=1)).to_pylist()
    changes = sorted((row["_change_type"], row["k"], row["v"]) for row in feed)
    updated = [("update_postimage", 2, "y"), ("update_preimage", 2, "x")]
    assert changes == [("insert", 3, "y"), *updated]
    assert not (table.table / "run-2").exists()


def live(table: Output) -> Any:
    return Table(table.table).snapshot().scan()
