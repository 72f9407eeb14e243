"""Leaves of a checkpoint are pruned and read together, and the result stays exact."""

import errno
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace import Table
from headrace.errors import HeadraceError, StoreFailedError
from headrace.metrics.counts import Counts
from headrace.plan import DropSeen, ScanParquet
from headrace.plan.context import ExecutionContext
from headrace.protocol.key import FileKey
from headrace.protocol.log_file import LogFile
from headrace.replay.seen import FrozenSeenSet
from headrace.storage.local import LocalStore
from headrace.wiring import open_executor
from tests.lake.action import Line, add, metadata, opening, protocol
from tests.lake.checkpoint import Encoding, Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.lake.schema import checkpoint_schema
from tests.scan.counting import CountingLocalStore

_STATISTICS = ("stats", "stats_parsed")


def partitioned(values: list[dict[str, str]]) -> list[Line]:
    lines = opening()
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("day", "date"), ("city", "string"))
    ]
    lines[1]["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    lines[1]["metaData"]["partitionColumns"] = ["day", "city"]
    adds = [
        {
            "add": {
                "path": f"f{i}",
                "partitionValues": value,
                "size": 1,
                "modificationTime": 1,
                "dataChange": True,
            }
        }
        for i, value in enumerate(values)
    ]
    return [*lines, *adds]


def test_a_value_of_the_wrong_type_keeps_its_file_with_and_without_a_checkpoint(
    tmp_path: Path,
) -> None:
    values = [{"day": "2026-01-01", "city": "Bern"}, {"day": "not a day", "city": "Bern"}]
    history = [partitioned(values), []]
    write_history(tmp_path, history)
    where = "day = '2027-07-07'"
    before = [file.path for file in Table(tmp_path).snapshot().scan(where=where)]
    write_checkpoint(tmp_path, 0, state_at(history, 0), Shape(form=Form.CLASSIC))
    commit_path(tmp_path, 0).unlink()
    assert [file.path for file in Table(tmp_path).snapshot().scan(where=where)] == before == ["f1"]


def test_leaves_with_different_plans_are_each_executed_by_their_own(tmp_path: Path) -> None:
    history = [partitioned([{"day": "2026-01-01", "city": "Bern"}] * 2)]
    write_history(tmp_path, history)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), Shape(form=Form.CLASSIC))
    file = LogFile(path=f"_delta_log/{path.name}", size_bytes=path.stat().st_size)
    scan = ScanParquet(files=(file,), columns=("add.path", "add.size"))
    leaves = [
        DropSeen(input=scan, seen=FrozenSeenSet([FileKey(hidden)])) for hidden in ("f0", "f1")
    ]
    batches = Table(tmp_path).executor.execute_leaves(leaves)
    paths = [add.path for batch in batches for add in batch.actions("add")]  # type: ignore[union-attr]
    assert sorted(paths) == ["f0", "f1"]


def test_the_row_groups_of_a_leaf_may_be_read_one_by_one_and_counted_once(tmp_path: Path) -> None:
    history = [partitioned([{"day": f"2026-01-0{i}", "city": "Bern"} for i in range(1, 8)])]
    write_history(tmp_path, history)
    shape = Shape(form=Form.CLASSIC, row_group_rows=2)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    file = LogFile(path=f"_delta_log/{path.name}", size_bytes=path.stat().st_size)
    executor = open_executor(LocalStore(str(tmp_path)))
    groups = range(executor.footer(file).metadata.num_row_groups)

    def read(some: tuple[int, ...] | None) -> tuple[list[str], Counts]:
        scan = ScanParquet(files=(file,), columns=("add.path", "add.size"), row_groups=some)
        context = ExecutionContext()
        leaf = DropSeen(input=scan, seen=FrozenSeenSet([FileKey("f1")]))
        batches = executor.bound(context).execute_leaves([leaf])
        paths = [add.path for batch in batches for add in batch.actions("add")]  # type: ignore[union-attr]
        return paths, context.meter.counts

    whole, counts = read(None)
    parts = [read((group,)) for group in groups]
    together = Counts()
    for _, part in parts:
        together.add(part)
    assert len(parts) > 3
    assert sorted(whole) == sorted(path for paths, _ in parts for path in paths)
    assert (together.total_metadata_rows, together.non_file_action_rows) == (
        counts.total_metadata_rows,
        counts.non_file_action_rows,
    )


def _timestamped(table: Path, *, text: str, typed: datetime) -> None:
    """Write a checkpoint with a timestamp partition, both as text and as its writer parsed it."""
    metadata_line = metadata(columns={"at": "timestamp"}, partition_columns=["at"])
    history = [[protocol(), metadata_line, add("a", partition_values={"at": text})], []]
    write_history(table, history)
    [path] = write_checkpoint(table, 0, state_at(history, 0), Shape(form=Form.CLASSIC))
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if row["add"]:
            row["add"]["partitionValues_parsed"] = {"at": typed}
    schema = checkpoint_schema(v2=False)
    parsed = pa.struct({"at": pa.timestamp("us", "UTC")})
    adds = pa.struct([*schema.field("add").type, pa.field("partitionValues_parsed", parsed)])
    place = schema.get_field_index("add")
    pq.write_table(pa.Table.from_pylist(rows, schema.set(place, pa.field("add", adds))), path)
    commit_path(table, 0).unlink()


def test_a_time_parsed_in_the_writers_zone_does_not_prune_its_file(
    tmp_path: Path,
) -> None:
    elsewhere = datetime(2026, 1, 1, 5, tzinfo=UTC)
    _timestamped(tmp_path, text="2026-01-01 00:00:00", typed=elsewhere)
    where = "at = TIMESTAMP '2026-01-01 00:00:00'"
    assert [file.path for file in Table(tmp_path).snapshot().scan(where=where)] == ["a"]


@pytest.mark.parametrize(
    ("kind", "maxima", "value", "where"),
    [
        ("string", ["m" * 32, "m" * 32 + "b"], pa.string(), f"x = '{'m' * 32}z'"),
        ("string", ["m" * 31 + "?\ufffd", "m" * 31 + "n"], pa.string(), f"x = '{'m' * 31}😀'"),
        ("decimal(20,0)", [2**63 - 1, 2**63 + 5], pa.decimal128(20), "x = 10000000000000000000"),
    ],
    ids=["bare prefix", "divided character", "clipped decimal"],
)
def test_a_row_group_with_inexact_extremes_of_one_file_and_greater_ones_of_another_is_read_rule_31(
    tmp_path: Path, kind: str, maxima: list[Any], value: pa.DataType, where: str
) -> None:
    lines = [protocol(), metadata(columns={"x": kind}, partition_columns=[]), add("a"), add("b")]
    write_history(tmp_path, [lines, []])
    rows = [
        *({"protocol": None, "add": None} | line for line in lines[:2]),
        *(
            {"add": line["add"] | {"stats_parsed": {"maxValues": {"x": x}, "minValues": {"x": x}}}}
            for line, x in zip(lines[2:], maxima, strict=True)
        ),
    ]
    schema = checkpoint_schema(v2=False)
    extremes = pa.struct({"x": value})
    parsed = pa.struct({"minValues": extremes, "maxValues": extremes})
    fields = [field for field in schema.field("add").type if field.name not in _STATISTICS]
    adds = pa.field("add", pa.struct([*fields, pa.field("stats_parsed", parsed)]))
    schema = schema.set(schema.get_field_index("add"), adds)
    path = tmp_path / "_delta_log" / f"{0:020}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    commit_path(tmp_path, 0).unlink()
    kept = {file.path for file in Table(tmp_path).snapshot().scan(where=where)}
    assert "a" in kept


def test_a_condition_that_is_never_evaluated_keeps_every_file_of_a_checkpoint(
    tmp_path: Path,
) -> None:
    history = [[*opening(), add("a", partition_values={"part": "x", "n": "1"}), add("b")]]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 0, state_at(history, 0))
    commit_path(tmp_path, 0).unlink()
    scan = Table(tmp_path).snapshot().scan(where="length(part) = 1")
    assert sorted(file.path for file in scan) == ["a", "b"]


def test_an_abandoned_dictionary_does_not_prune_later_texts(
    tmp_path: Path,
) -> None:
    values = [{"day": "2026-01-01", "city": f"city {n}"} for n in range(60)]
    history = [partitioned(values), []]
    write_history(tmp_path, history)
    shape = Shape(form=Form.V2_PARQUET, sidecars=1, encoding=Encoding.CROWDED)
    write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    commit_path(tmp_path, 0).unlink()
    snapshot = Table(tmp_path).snapshot()
    for n in range(60):
        paths = [file.path for file in snapshot.scan(where=f"city = 'city {n}'")]
        assert paths == [f"f{n}"]


def test_damaged_codes_of_partition_values_are_reported_as_damage(tmp_path: Path) -> None:
    history = [
        partitioned([{"day": f"2026-01-0{i // 30 + 1}", "city": "Bern"} for i in range(150)])
    ]
    write_history(tmp_path, history)
    shape = Shape(form=Form.CLASSIC, encoding=Encoding.BARE)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    commit_path(tmp_path, 0).unlink()
    group = pq.read_metadata(path).row_group(0)
    [values] = [
        chunk
        for chunk in map(group.column, range(group.num_columns))
        if chunk.path_in_schema == "add.partitionValues.key_value.value"
    ]
    whole = path.read_bytes()
    end = values.dictionary_page_offset + values.total_compressed_size
    reported = 0
    for at in range(values.data_page_offset, end):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        for where in ("day = '2026-01-02'", None):
            try:
                list(Table(tmp_path).snapshot().scan(where=where))
            except HeadraceError:
                reported += 1
    assert reported


def test_a_system_error_is_not_reported_as_a_damaged_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage would send the scan to an older base, and make its user delete an intact file."""
    history = [partitioned([{"day": "2026-01-01", "city": "Bern"}] * 2), []]
    write_history(tmp_path, history)
    write_checkpoint(tmp_path, 1, state_at(history, 1), Shape(form=Form.CLASSIC))
    snapshot = Table(tmp_path, cache_bytes=0).snapshot()

    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(pq, "ParquetFile", no_room)
    with pytest.raises(StoreFailedError, match="Too many open files"):
        list(snapshot.scan())


@pytest.mark.parametrize("is_remote", [False, True])
def test_row_groups_taken_together_stay_in_order(tmp_path: Path, *, is_remote: bool) -> None:
    """One thread takes all of them, so that the other cannot overtake it."""
    history = [[*opening(), *(add(f"f{i:02}") for i in range(60))]]
    write_history(tmp_path, history)
    shape = Shape(form=Form.CLASSIC, row_group_rows=2)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    rows = pq.ParquetFile(path).read().column("add").to_pylist()
    written = [row["path"] for row in rows if row is not None]
    store = CountingLocalStore(tmp_path) if is_remote else LocalStore(str(tmp_path))
    snapshot = Table(tmp_path, executor=open_executor(store)).snapshot()
    scan = snapshot.scan(strategy="forward", leaf_parallelism=3, row_groups_per_batch=100)
    assert [file.path for file in scan] == written
