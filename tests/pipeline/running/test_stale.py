"""Results that look unchanged but are stale: none is skipped, and no row is duplicated."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import Field, PrimitiveType

from headrace.errors import InvalidViewError, RunFailedError
from headrace.pipeline import Project, RunRecord
from tests.pipeline.embedded import rows, run_checked

OUTPUT = "-- @materialise output\n"
MERGE = f"{OUTPUT}-- @write merge\n-- @keys id\n"
PARTITIONS = f"{OUTPUT}-- @write overwrite_partitions\n-- @partition_by id\n"
APPEND = f"{OUTPUT}-- @write append\n-- @append all\n"
ROWS = "SELECT id, v FROM t\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one source and no views."""
    (tmp_path / "views").mkdir()
    (tmp_path / "headrace.toml").write_text('[project]\nname = "p"\n[sources.t]\nuri = "lake"\n')
    write_rows(tmp_path, [1, 2])
    return tmp_path


def write_rows(root: Path, ids: list[int]) -> None:
    rows = pa.table({"id": ids, "v": [10 * number for number in ids]})
    write_deltalake(root / "lake", rows, mode="overwrite")


def write_views(root: Path, **views: str) -> None:
    for name, text in views.items():
        (root / "views" / f"{name}.sql").write_text(text)


def status(record: RunRecord, view: str) -> str:
    return record.views[view].status.value


def count(root: Path, view: str = "counted") -> int:
    [row] = rows(root, view)
    return int(row["n"])


@pytest.mark.parametrize("header", [MERGE, PARTITIONS, APPEND])
def test_readers_of_a_table_with_older_rows_run_after_it_is_rewritten(
    root: Path, header: str
) -> None:
    write_views(root, kept=header + ROWS, counted=f"{OUTPUT}SELECT count(*) AS n FROM kept\n")
    run_checked(root)
    write_rows(root, [2, 3])
    run_checked(root)
    assert count(root) == len(rows(root, "kept")) > 2
    run_checked(root, select=["kept"], full_refresh=True)
    assert len(rows(root, "kept")) == 2
    record = run_checked(root)
    assert status(record, "kept") == "skipped"
    assert count(root) == 2
    assert status(run_checked(root), "counted") == "skipped"


def test_readers_of_a_table_with_foreign_rows_run_after_these_change(root: Path) -> None:
    write_views(root, kept=MERGE + ROWS, counted=f"{OUTPUT}SELECT count(*) AS n FROM kept\n")
    run_checked(root)
    write_deltalake(root / "output" / "kept", pa.table({"id": [9], "v": [9]}), mode="append")
    run_checked(root)
    assert count(root) == len(rows(root, "kept")) == 3
    assert status(run_checked(root), "counted") == "skipped"


def test_a_run_after_a_merge_skips_everything(root: Path) -> None:
    write_views(root, kept=MERGE + ROWS, counted=f"{OUTPUT}SELECT count(*) AS n FROM kept\n")
    run_checked(root)
    assert {view.status.value for view in run_checked(root).views.values()} == {"skipped"}
    write_rows(root, [2, 3])
    assert {view.status.value for view in run_checked(root).views.values()} == {"ran"}
    assert {view.status.value for view in run_checked(root).views.values()} == {"skipped"}


def test_rows_of_other_writers_do_not_cause_a_second_append(root: Path) -> None:
    write_views(root, log=APPEND + ROWS)
    run_checked(root)
    write_deltalake(root / "output" / "log", pa.table({"id": [9], "v": [9]}), mode="append")
    assert status(run_checked(root), "log") == "skipped"
    assert sorted(row["id"] for row in rows(root, "log")) == [1, 2, 9]


def test_a_result_is_not_appended_again_when_the_log_was_cleaned_up(root: Path) -> None:
    write_views(root, log=APPEND + ROWS, plain=OUTPUT + ROWS)
    run_checked(root)
    for view in ("log", "plain"):
        table = root / "output" / view
        DeltaTable(table).create_checkpoint()
        (table / "_delta_log" / f"{0:020}.json").unlink()
    assert status(run_checked(root), "log") == "skipped"
    assert sorted(row["id"] for row in rows(root, "log")) == [1, 2]


def test_a_table_recreated_by_another_writer_is_not_appended_to(root: Path) -> None:
    write_views(root, log=APPEND + ROWS)
    run_checked(root)
    write_deltalake(root / "other", pa.table({"id": [9], "v": [9]}))
    (root / "output" / "log").rename(root / "away")
    (root / "other").rename(root / "output" / "log")
    with pytest.raises(RunFailedError, match="no run of p has written"):
        run_checked(root)


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.pop(),
        lambda fields: fields[1].update(name="w"),
        lambda fields: fields[1].update(type="integer"),
        lambda fields: fields.reverse(),
    ],
    ids=["dropped", "renamed", "retyped", "moved"],
)
def test_a_table_whose_columns_another_writer_changed_is_rewritten(
    root: Path, change: Callable[[list[dict[str, Any]]], object]
) -> None:
    write_views(root, plain=OUTPUT + ROWS)
    run_checked(root)
    edit_columns(root / "output" / "plain", change)
    record = run_checked(root)
    assert status(record, "plain") == "ran"
    assert "columns" in record.views["plain"].reason
    assert rows(root, "plain") == [{"id": 1, "v": 10}, {"id": 2, "v": 20}]


def edit_columns(table: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Commit another schema, as `ALTER TABLE` does."""
    log = table / "_delta_log"
    lines = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    [metadata] = [line["metaData"] for line in lines if "metaData" in line]
    schema = json.loads(metadata["schemaString"])
    change(schema["fields"])
    metadata["schemaString"] = json.dumps(schema)
    (log / f"{1:020}.json").write_text(json.dumps({"metaData": metadata}))


def test_a_file_rewritten_under_the_same_name_is_read_again(root: Path) -> None:
    table = root / "named"
    (table / "_delta_log").mkdir(parents=True)
    (root / "headrace.toml").write_text('[project]\nname = "p"\n[sources.t]\nuri = "named"\n')
    write_views(root, plain=OUTPUT + ROWS)
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "v")
        ],
    }
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {},
    }
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    size = put_file(table, [1, 2])
    commit(table, 0, protocol, {"metaData": metadata}, added(size, modified_ms=1))
    run_checked(root)
    assert put_file(table, [7, 8]) == size
    commit(table, 1, {"remove": {"path": "part-0.parquet", "dataChange": True}})
    commit(table, 2, added(size, modified_ms=2))
    record = run_checked(root)
    assert "1 file altered: part-0.parquet" in record.views["plain"].reason
    assert [row["id"] for row in rows(root, "plain")] == [7, 8]


def put_file(table: Path, ids: list[int]) -> int:
    file = table / "part-0.parquet"
    pq.write_table(pa.table({"id": ids, "v": ids}), file)
    return file.stat().st_size


def added(size: int, *, modified_ms: int) -> dict[str, Any]:
    add = {
        "path": "part-0.parquet",
        "partitionValues": {},
        "size": size,
        "modificationTime": modified_ms,
        "dataChange": True,
    }
    return {"add": add}


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    lines = "\n".join(map(json.dumps, actions))
    (table / "_delta_log" / f"{version:020}.json").write_text(lines)


def skip_key(root: Path, sql: str) -> str | None:
    write_views(root, one=f"{OUTPUT}{sql}\n")
    return Project.load(root).plan()["one"].skip_key


def test_counting_distinct_rows_depends_on_every_column(root: Path) -> None:
    """A row with a null is not counted."""
    sql = "SELECT count(DISTINCT *) AS n FROM t"
    before = skip_key(root, sql)
    DeltaTable(root / "lake").alter.add_columns([Field("w", PrimitiveType("long"))])
    assert skip_key(root, sql) != before


def test_members_of_a_struct_are_named_by_the_type_of_a_cast(root: Path) -> None:
    upper = skip_key(root, "SELECT CAST(struct(id) AS STRUCT<A: BIGINT>) AS s FROM t")
    lower = skip_key(root, "SELECT CAST(struct(id) AS STRUCT<a: BIGINT>) AS s FROM t")
    assert upper != lower


def test_a_comment_that_spark_continues_on_the_next_line_is_refused(root: Path) -> None:
    """Spark treats the next line as part of the comment; other parsers do not."""
    with pytest.raises(InvalidViewError, match=r"line 2 column 11: .*backslash"):
        skip_key(root, "SELECT id -- next \\\n + 1 AS id FROM t")
    assert skip_key(root, "SELECT id /* a \\\n b */ , '-- \\\n' AS s FROM t")
