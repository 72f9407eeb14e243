"""Statements end to end on local disk, over copies of real logs and of our own."""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace.errors import InvalidArgumentError, NotIndexTablesError, UnknownColumnError
from headrace.maintain.command import ResultTable, run_statement
from headrace.maintain.setting import StateFormat, StateSettings
from headrace.maintain.statement import parse_statement
from headrace.maintain.writer import StateWriter
from headrace.storage.local import LocalStore
from tests.maintain import oracle
from tests.maintain.table import entry, metadata, objects_of

REAL = os.environ.get("HEADRACE_INDEXTABLES")
LOGS = sorted(path.name for path in Path(REAL).iterdir() if path.is_dir()) if REAL else []
needs_logs = pytest.mark.skipif(not REAL, reason="HEADRACE_INDEXTABLES is not set")


def sql(text: str, settings: StateSettings | None = None) -> ResultTable:
    statement = parse_statement(text)
    assert statement is not None
    return run_statement(statement, open_store=LocalStore, settings=settings)


def rows(result: ResultTable) -> list[dict[str, Any]]:
    return list(result.dicts())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    writer = StateWriter(LocalStore(str(tmp_path)))
    writer.commit([entry("p=1/part-a.split", part="1")], metadata=metadata())
    writer.commit([entry("p=2/part-b.split", part="2"), entry("p=10/part-c.split", part="10")])
    for path in oracle.read(objects_of(tmp_path)).files:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(b"data")
    return tmp_path


def test_describe_state_has_the_nine_properties(table: Path) -> None:
    result = {
        row["property"]: row["value"] for row in rows(sql(f"DESCRIBE INDEXTABLES STATE '{table}'"))
    }
    assert list(result) == [
        *("format", "version", "numFiles", "totalBytes", "numManifests", "numTombstones"),
        *("tombstoneRatio", "createdAt", "protocolVersion"),
    ]
    assert (result["format"], result["version"], result["numFiles"]) == ("avro-state", "2", "3")
    assert (result["tombstoneRatio"], result["protocolVersion"]) == ("0.00%", "4")


def test_compact_merges_the_manifests_into_one(table: Path) -> None:
    before = oracle.read(objects_of(table)).files
    (row,) = rows(sql(f"COMPACT INDEXTABLES '{table}'"))
    assert row == {
        "tablePath": str(table),
        "status": "SUCCESS",
        "previousFormat": "avro-state",
        "newFormat": "avro-state",
        "version": 3,
        "numFiles": 3,
    }
    after = oracle.read(objects_of(table))
    assert (after.files, len(after.record["manifests"])) == (before, 1)


def test_a_second_compact_changes_nothing(table: Path) -> None:
    sql(f"COMPACT INDEXTABLES '{table}'")
    before = objects_of(table)
    (row,) = rows(sql(f"COMPACT INDEXTABLES '{table}'"))
    assert (row["version"], objects_of(table)) == (3, before)


def test_dropped_partitions_are_named_by_typed_values(table: Path) -> None:
    (row,) = rows(sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE part IN ('2', '7')"))
    assert (row["status"], row["count"]) == ("SUCCESS", 1)
    assert set(oracle.read(objects_of(table)).files) == {"p=1/part-a.split", "p=10/part-c.split"}


def test_a_condition_on_another_column_is_refused(table: Path) -> None:
    with pytest.raises(UnknownColumnError):
        sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE id = 1")


def test_no_matching_partition_commits_nothing(table: Path) -> None:
    (row,) = rows(sql(f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE part = '99'"))
    assert (row["status"], oracle.states(objects_of(table))) == ("NO_MATCH", [1, 2])


def test_a_table_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotIndexTablesError, match="Delta table, use `headrace state`"):
        sql(f"CHECKPOINT INDEXTABLES '{tmp_path}'")


def test_catalog_names_need_spark() -> None:
    with pytest.raises(InvalidArgumentError):
        sql("CHECKPOINT INDEXTABLES db.events")


def test_describe_log_has_a_row_for_every_action(table: Path) -> None:
    StateWriter(LocalStore(str(table))).commit(removes=["p=1/part-a.split"])
    result = rows(sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{table}'"))
    assert sorted((row["action"], row["path"]) for row in result if row["action"] == "add") == [
        ("add", "p=10/part-c.split"),
        ("add", "p=2/part-b.split"),
    ]
    everything = rows(sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{table}' INCLUDE ALL"))
    assert {"protocol", "metaData", "add"} <= {row["action"] for row in everything}
    assert len(everything) > len(result)


def age(path: Path, hours: float) -> None:
    for file in path.rglob("*"):
        stat = file.stat()
        os.utime(file, (stat.st_atime, stat.st_mtime - hours * 3600))


def test_purge_deletes_only_unreferenced_files(table: Path) -> None:
    (table / "part-orphan.split").write_bytes(b"x")
    (table / "notes.txt").write_bytes(b"mine")
    (table / "_private").mkdir()
    (table / "_private" / "part-x.split").write_bytes(b"hidden")
    age(table, 24 * 30)
    (table / "part-young.split").write_bytes(b"x")
    dry = rows(sql(f"PURGE INDEXTABLE '{table}' OLDER THAN 7 DAYS DRY RUN"))
    assert [row["path"] for row in dry if row["status"] == "WOULD_DELETE"] == ["part-orphan.split"]
    assert (table / "part-orphan.split").exists()
    sql(f"PURGE INDEXTABLE '{table}' OLDER THAN 7 DAYS")
    assert not (table / "part-orphan.split").exists()
    expected = ("part-young.split", "notes.txt", "_private/part-x.split", "p=1/part-a.split")
    assert all((table / name).exists() for name in expected)


SPELLINGS = {
    "encoded": ("p=a b/part-1.split", "p=a%20b/part-1.split"),
    "stored with an escape": ("p=10%3A00/part-1.split", "p=10%3A00/part-1.split"),
    "encoded twice": ("p=10%3A00/part-1.split", "p=10%253A00/part-1.split"),
    "not normal": ("p=1/part-1.split", "./p=1//part-1.split"),
    "absolute": ("part-1.split", "{table}/part-1.split"),
    "an address": ("part-1.split", "file://{table}/part-1.split"),
    "of another scheme": ("p=1/part-1.split", "s3a://bucket/table/p=1/part-1.split"),
}


@pytest.mark.parametrize(("stored", "recorded"), SPELLINGS.values(), ids=SPELLINGS)
def test_no_live_file_is_purged_or_missed_however_its_path_is_spelled(
    tmp_path: Path, stored: str, recorded: str
) -> None:
    file = tmp_path / stored
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x")
    writer = StateWriter(LocalStore(str(tmp_path)))
    writer.commit([entry(recorded.format(table=tmp_path))], metadata=metadata())
    age(tmp_path, 24 * 30)
    sql(f"PURGE INDEXTABLE '{tmp_path}' OLDER THAN 7 DAYS")
    assert file.exists()
    target = f"{tmp_path}/_transaction_log_repaired"
    (row, *_) = rows(sql(f"REPAIR INDEXFILES TRANSACTION LOG '{tmp_path}' AT LOCATION '{target}'"))
    assert (row["status"], row["count"]) == ("SUCCESS", 1)


def test_repair_leaves_out_a_missing_file_with_an_absolute_path(tmp_path: Path) -> None:
    writer = StateWriter(LocalStore(str(tmp_path)))
    writer.commit([entry(f"{tmp_path}/part-1.split")], metadata=metadata())
    target = f"{tmp_path}/_transaction_log_repaired"
    result = rows(sql(f"REPAIR INDEXFILES TRANSACTION LOG '{tmp_path}' AT LOCATION '{target}'"))
    assert [row["status"] for row in result] == ["SUCCESS", "MISSING"]


def test_purge_cleans_old_states_and_keeps_the_newest_three(table: Path) -> None:
    store = LocalStore(str(table))
    for number in range(4):
        StateWriter(store).commit([entry(f"part-{number}.split")])
    age(table, 24 * 30)
    for path in table.rglob("_manifest.avro"):  # the states themselves record that they are recent
        assert path.exists()
    sql(f"PURGE INDEXTABLE '{table}' OLDER THAN 7 DAYS")
    assert oracle.states(objects_of(table)) == [1, 2, 3, 4, 5, 6]


def test_truncate_keeps_only_the_newest_state(table: Path) -> None:
    before = oracle.read(objects_of(table)).files
    dry = rows(sql(f"TRUNCATE INDEXTABLES TIME TRAVEL '{table}' DRY RUN"))
    assert dry[-1]["status"] == "DRY_RUN"
    assert oracle.states(objects_of(table)) == [1, 2]
    sql(f"TRUNCATE INDEXTABLES TIME TRAVEL '{table}'")
    assert oracle.states(objects_of(table)) == [2]
    assert oracle.read(objects_of(table)).files == before


def test_repair_writes_a_new_log_of_the_existing_files(table: Path) -> None:
    (table / "p=2" / "part-b.split").unlink()
    newest = table / "_transaction_log" / "state-v00000000000000000002" / "_manifest.avro"
    newest.write_bytes(newest.read_bytes()[:-20])
    target = f"{table}/_transaction_log_repaired"
    result = rows(sql(f"REPAIR INDEXFILES TRANSACTION LOG '{table}' AT LOCATION '{target}'"))
    assert (result[0]["status"], result[0]["count"]) == ("SUCCESS", 1)
    assert any(row["status"] == "UNREADABLE" for row in result)
    read = oracle.read(objects_of(table), root="_transaction_log_repaired")
    assert set(read.files) == {"p=1/part-a.split"}


@needs_logs
@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_is_compacted_without_a_change(name: str, tmp_path: Path) -> None:
    table = shutil.copytree(Path(str(REAL)) / name, tmp_path / name)
    for path in [table, *table.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = oracle.read(objects_of(table))
    (row,) = rows(sql(f"COMPACT INDEXTABLES '{table}'"))
    after = oracle.read(objects_of(table))
    assert (row["status"], row["version"]) == ("SUCCESS", before.version + 1)
    assert after.files == before.files
    assert after.record["schemaRegistry"] == before.record["schemaRegistry"]
    assert after.record["metadata"] is not None
    known = {e["path"]: e for e in before.entries}
    for listed in after.entries:
        old = known[listed["path"]]
        assert {k: listed[k] for k in old if k != "addedAtVersion"} == {
            k: v for k, v in old.items() if k != "addedAtVersion"
        }


@needs_logs
@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_is_switched_to_json_and_committed_to(name: str, tmp_path: Path) -> None:
    table = shutil.copytree(Path(str(REAL)) / name, tmp_path / name)
    for path in [table, *table.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = oracle.read(objects_of(table)).files
    as_json = StateSettings(format=StateFormat.JSON)
    (row,) = rows(sql(f"CHECKPOINT INDEXTABLES '{table}'", as_json))
    assert (row["previousFormat"], row["newFormat"]) == ("avro-state", "json")
    assert oracle.replay_json(objects_of(table)) == before
    writer = StateWriter(LocalStore(str(table)), settings=as_json)
    result = writer.commit([entry("new.split", size=3)])
    assert result.num_files == len(before) + 1
    assert oracle.replay_json(objects_of(table)) == before | {"new.split": 3}


def test_a_large_json_checkpoint_has_parts(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    StateWriter(store).commit((entry(f"f{n}") for n in range(25)), metadata=metadata())
    settings = StateSettings(format=StateFormat.JSON, entries_per_manifest=10)
    (row,) = rows(sql(f"CHECKPOINT INDEXTABLES '{tmp_path}'", settings))
    assert (row["newFormat"], row["numFiles"]) == ("json-multipart", 25)
    hint = msgspec.json.decode((tmp_path / "_transaction_log/_last_checkpoint").read_bytes())
    assert (hint["format"], hint["parts"]) == ("json-multipart", 3)
    assert len(oracle.replay_json(objects_of(tmp_path))) == 25
