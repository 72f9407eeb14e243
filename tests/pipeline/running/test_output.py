"""Outputs: how rows are written to tables, and what the logs record."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from headrace import Table
from headrace.errors import InvalidResultError, UnwritableTableError
from headrace.pipeline.contract import Contract
from headrace.pipeline.output.note import last_note
from headrace.pipeline.project.header import WriteMode
from tests.lake.vector import inline_vector
from tests.pipeline.running.output import Output, as_rows, rows


def test_an_overwrite_replaces_all_rows_in_one_commit(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    assert output.write(rows((1, "a", "x"))).version == 0
    assert output.write(rows((2, "a", "y"))).version == 1
    assert output.rows() == as_rows((2, "a", "y"))


def test_an_overwrite_may_change_the_columns(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x")))
    output.write(pa.table({"other": pa.array([1.5])}))
    assert output.rows() == [{"other": 1.5}]
    assert Table(tmp_path / "t").snapshot().version == 1


def test_a_result_without_rows_is_a_version_too(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x")))
    assert output.write(rows()).version == 1
    assert output.rows() == []


def test_an_append_adds_rows(tmp_path: Path) -> None:
    output = Output(tmp_path / "t", write=WriteMode.APPEND)
    output.write(rows((1, "a", "x")))
    output.write(rows((2, "a", "y")))
    assert output.rows() == as_rows((1, "a", "x"), (2, "a", "y"))


def test_an_append_of_other_columns_is_refused(tmp_path: Path) -> None:
    output = Output(tmp_path / "t", write=WriteMode.APPEND)
    output.write(rows((1, "a", "x")))
    with pytest.raises(InvalidResultError, match="--full-refresh"):
        output.write(pa.table({"k": [1]}))


def test_only_partitions_with_new_rows_are_overwritten(tmp_path: Path) -> None:
    output = Output(tmp_path / "t", write=WriteMode.OVERWRITE_PARTITIONS, partition_by=("part",))
    output.write(rows((1, "a", "x"), (2, "b", "x"), (3, None, "x")))
    output.write(rows((4, "b", "y"), (5, None, "y")))
    assert output.rows() == as_rows((1, "a", "x"), (4, "b", "y"), (5, None, "y"))
    assert Table(tmp_path / "t").snapshot().version == 1


@pytest.mark.parametrize("odd", ["ä/ö 50% = x", "a b", "%41", "q?#&"])
def test_a_partition_with_any_name_is_overwritten(tmp_path: Path, odd: str) -> None:
    output = Output(tmp_path / "t", write=WriteMode.OVERWRITE_PARTITIONS, partition_by=("part",))
    output.write(rows((1, odd, "x"), (2, "a", "x")))
    output.write(rows((1, odd, "y")))
    assert output.rows() == as_rows((1, odd, "y"), (2, "a", "x"))


def test_partition_values_may_hold_anything(tmp_path: Path) -> None:
    output = Output(tmp_path / "t", partition_by=("part",))
    odd = [(n, text, "x") for n, text in enumerate(["a b", "ä/ö", "50%", "x=y", "a:b", "q?#&"])]
    output.write(rows(*odd))
    assert output.rows() == as_rows(*odd)
    theirs = pa.table(DeltaTable(tmp_path / "t").get_add_actions(flatten=True))
    assert sorted(theirs["partition.part"].to_pylist()) == sorted(text for _, text, _ in odd)


@pytest.mark.parametrize("mode", [WriteMode.APPEND, WriteMode.OVERWRITE])
def test_a_change_data_feed_has_the_changes_of_a_commit(tmp_path: Path, mode: WriteMode) -> None:
    output = Output(tmp_path / "t", write=mode, change_feed=True)
    output.write(rows((1, "a", "x"), (2, "a", "x")))
    output.write(rows((2, "a", "y"), (3, "a", "y")))
    feed = pa.table(DeltaTable(tmp_path / "t").load_cdf(starting_version=1)).to_pylist()
    changes = sorted((row["_change_type"], row["k"], row["v"]) for row in feed)
    inserted = [("insert", 2, "y"), ("insert", 3, "y")]
    deleted = [("delete", 1, "x"), ("delete", 2, "x")] if mode is WriteMode.OVERWRITE else []
    assert changes == [*deleted, *inserted]


def test_a_commit_carries_a_note_and_a_transaction(tmp_path: Path) -> None:
    Output(tmp_path / "t").write(rows((1, "a", "x")), key="abc")
    noted = last_note(tmp_path / "t")
    assert noted is not None
    assert (noted.version, noted.note.skip_key, noted.note.digest.rows) == (0, "abc", 1)
    assert Table(tmp_path / "t").snapshot().txns["headrace/p/v"].version == 1


def test_statistics_bound_every_file_and_prune_no_row(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("i", pa.int32()),
            ("d", pa.decimal128(12, 3)),
            ("s", pa.string()),
            ("day", pa.date32()),
            ("t", pa.timestamp("us", "UTC")),
            ("f", pa.float64()),
            ("n", pa.int64()),
        ]
    )
    table = pa.table(
        {
            "i": [1, 2],
            "d": [Decimal("-1.250"), Decimal("7.125")],
            "s": ["a" * 100, "z"],
            "day": [date(2024, 1, 1), date(2024, 2, 1)],
            "t": [datetime(2024, 1, 1, 0, 0, 0, 1500), datetime(2024, 1, 1, 0, 0, 0, 1501)],  # noqa: DTZ001
            "f": [1.0, float("nan")],
            "n": pa.nulls(2, pa.int64()),
        },
        schema=schema,
    )
    Output(tmp_path / "t").write(table)
    action = pa.table(DeltaTable(tmp_path / "t").get_add_actions(flatten=True)).to_pylist()[0]
    assert (action["num_records"], action["null_count.n"], action["null_count.i"]) == (2, 2, 0)
    assert (action["min.i"], action["max.i"]) == (1, 2)
    assert (action["min.d"], action["max.d"]) == (Decimal("-1.250"), Decimal("7.125"))
    snapshot = Table(tmp_path / "t").snapshot()
    for condition in (
        "f > 5",
        "s >= 'z'",
        "t >= '2024-01-01T00:00:00.001501Z'",
        "d = 7.125",
        "i = 2",
    ):
        assert snapshot.scan(where=condition).count() == 1, condition
    for pruned in ("i > 2", "day < '2024-01-01'", "d > 7.2", "s > 'zz'"):
        assert snapshot.scan(where=pruned).count() == 0, pruned


def test_a_table_with_a_feature_that_we_do_not_write_is_refused_by_name(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x")))
    DeltaTable(tmp_path / "t").alter.add_constraint({"positive": "k > 0"})
    with pytest.raises(UnwritableTableError, match="CHECK constraints"):
        output.write(rows((-1, "a", "x")))
    assert output.rows() == as_rows((1, "a", "x"))


def delete_first_row(table: Path) -> None:
    """Add a deletion vector to a table's only file, as another writer would."""
    (file,) = Table(table).snapshot().scan()
    schema = {"partitionValues": {}, "size": file.size_bytes, "dataChange": True}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    lines = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": file.path, "deletionTimestamp": 1, "dataChange": True}},
        {
            "add": {
                "path": file.path,
                "modificationTime": 1,
                "deletionVector": inline_vector([0]),
                **schema,
            }
        },
    ]
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (table / "_delta_log" / f"{1:020}.json").write_bytes(body)


def test_files_with_deletion_vectors_can_be_replaced(tmp_path: Path) -> None:
    output = Output(tmp_path / "t")
    output.write(rows((1, "a", "x"), (2, "a", "y")))
    delete_first_row(tmp_path / "t")
    assert output.rows() == as_rows((2, "a", "y"))
    output.write(rows((3, "a", "z")))
    assert output.rows() == as_rows((3, "a", "z"))


def test_a_null_partition_value_of_a_column_without_nulls_is_not_committed(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), pa.field("part", pa.string(), nullable=False)])
    output = Output(tmp_path / "t", partition_by=("part",))
    with pytest.raises(InvalidResultError, match="empty string"):
        output.write(pa.table({"k": [1, 2], "part": ["a", ""]}, schema=schema))
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_a_date_that_no_partition_value_can_hold_is_not_committed(tmp_path: Path) -> None:
    day = pa.array([2932897], pa.int32()).cast(pa.date32())  # 10000-01-01
    output = Output(tmp_path / "t", partition_by=("day",))
    with pytest.raises(InvalidResultError, match="day"):
        output.write(pa.table({"k": [1], "day": day}))
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_comments_properties_and_the_fingerprint_of_a_contract_are_stored(tmp_path: Path) -> None:
    described = pa.field("k", pa.int64(), metadata={"comment": "the key"})
    contract = Contract.from_arrow(
        pa.schema([described]), table="v", metadata={"owner": "finance"}, ordering=["k"]
    )
    output = Output(tmp_path / "t", contract=contract)
    output.write(pa.table({"k": [1]}, schema=pa.schema([described])))
    metadata = DeltaTable(tmp_path / "t").metadata()
    assert metadata.configuration["owner"] == "finance"
    assert metadata.configuration["headrace.schema.fingerprint"] == contract.fingerprint
    assert metadata.configuration["headrace.orderedBy"] == "k"
    assert DeltaTable(tmp_path / "t").schema().fields[0].metadata == {"comment": "the key"}


def test_a_property_set_by_others_is_kept_and_one_of_ours_is_removed(tmp_path: Path) -> None:
    table = tmp_path / "t"
    contract = Contract.from_arrow(pa.schema([("k", pa.int64())]), table="v")
    ours = msgspec.structs.replace(contract, metadata={"owner": "finance"})
    Output(table, contract=ours).write(pa.table({"k": [1]}))
    DeltaTable(table).alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
    Output(table, contract=contract).write(pa.table({"k": [2]}))
    configuration = DeltaTable(table).metadata().configuration
    assert configuration["delta.logRetentionDuration"] == "interval 9 days"
    assert "owner" not in configuration
