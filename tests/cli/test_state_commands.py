"""`headrace state` and `headrace sql`, in a separate process."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.command import headrace


def facts(*words: str) -> Any:
    result = headrace(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table"
    for number in range(3):
        rows = pa.table({"id": [number], "city": ["Bern"]})
        write_deltalake(path, rows, mode="append", partition_by=["city"])
    return str(path)


def test_a_state_is_synced_described_and_verified(table: str) -> None:
    missing = headrace("state", "describe", table)
    assert missing.returncode != 0
    assert "has no state" in missing.stderr
    synced = facts("state", "sync", table)
    assert (synced["kind"], synced["num_files"]) == ("full", 3)
    DeltaTable(table).delete("id = 1")
    assert facts("state", "sync", table)["removed"] == 1
    described = facts("state", "describe", table)
    assert (described["version"], described["numFiles"]) == ("3", "2")
    verified = facts("state", "verify", table)
    assert (verified["live_files"], verified["problems"]) == (2, [])


def test_clean_deletes_only_when_told_to(table: str) -> None:
    settings = ("retention_versions=1", "retention_hours=0", "min_manifest_age_hours=0")
    keep_one = [word for setting in settings for word in ("--set", setting)]
    facts("state", "sync", table)
    for number in range(3, 5):
        write_deltalake(table, pa.table({"id": [number], "city": ["Bern"]}), mode="append")
        facts("state", "sync", table, "--set", "retention_versions=9")
    folder = Path(table) / "_headrace"
    before = sorted(folder.rglob("*.avro"))
    planned = facts("state", "clean", table, *keep_one)
    assert planned["dry_run"]
    assert planned["states"] == [2]
    assert sorted(folder.rglob("*.avro")) == before
    cleaned = facts("state", "clean", table, *keep_one, "--yes")
    assert cleaned["deleted_states"] == 1
    assert len(sorted(folder.rglob("*.avro"))) < len(before)
    assert facts("state", "verify", table)["live_files"] == 5


def test_a_compaction_reports_whether_there_was_anything_to_do(table: str) -> None:
    facts("state", "sync", table)
    assert facts("state", "compact", table) == {"status": "clean already"}


def test_facts_are_printed_without_absent_values(table: str) -> None:
    printed = headrace("state", "sync", table).stdout
    assert "commits_read: 0\n" in printed
    planned = headrace("state", "clean", table).stdout
    assert "retained: 2\n" in planned
    assert "dry_run: yes\n" in planned
    assert "states: none\n" in planned
    for absent in ("None", "()", "[]", "reason"):
        assert absent not in printed + planned


def test_changes_start_after_a_version_or_at_a_time(table: str) -> None:
    after = facts("state", "changes", table, "--since", "1")
    assert [change["version"] for change in after] == [2]
    assert facts("state", "changes", table, "--since", "2") == []
    beyond = headrace("state", "changes", table, "--since", "3")
    assert beyond.stderr.startswith("error INVALID_ARGUMENT: --since: ")
    recent = facts("state", "changes", table, "--since", "yesterday")
    assert [change["version"] for change in recent] == [0, 1, 2]
    missing = headrace("state", "changes", table)
    assert missing.returncode == 2
    assert "--since" in missing.stderr


@pytest.mark.parametrize("verb", ["sync", "describe", "compact", "clean", "verify"])
def test_a_state_of_no_table_is_refused_as_for_other_commands(tmp_path: Path, verb: str) -> None:
    result = headrace("state", verb, str(tmp_path / "nowhere"))
    assert (result.returncode, result.stdout) == (3, "")
    assert "TABLE_NOT_FOUND" in result.stderr


def test_readable_changes_show_decoded_paths(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "city": ["La Chaux"]})
    for _ in range(2):
        write_deltalake(tmp_path / "t", rows, mode="append", partition_by=["city"])
    table = str(tmp_path / "t")
    assert "city=La%20Chaux/" in headrace("state", "changes", table, "--since", "0").stdout
    assert facts("state", "changes", table, "--since", "0")[0]["path"].startswith("city=La%2520")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DESCRIBE STATE '/t'", "at character 9: expected INDEXTABLES, found 'STATE'"),
        ("desc", "at character 4: expected INDEXTABLES, found the end"),
        ("SELECT 1", "at character 0: expected CHECKPOINT, COMPACT"),
        ("", "at character 0: expected CHECKPOINT, COMPACT"),
    ],
)
def test_an_unknown_statement_names_the_wrong_word(text: str, message: str) -> None:
    result = headrace("sql", text)
    assert result.returncode == 2
    assert message in result.stderr


def test_an_unknown_setting_is_refused_with_the_known_ones(table: str) -> None:
    result = headrace("state", "sync", table, "--set", "nonsense=3")
    assert result.returncode == 2
    assert "retention_versions" in result.stderr


def test_sql_about_a_delta_table_names_what_is_missing(table: str) -> None:
    result = headrace("sql", f"DESCRIBE INDEXTABLES STATE '{table}'")
    assert result.returncode != 0
    assert "NOT_INDEXTABLES" in result.stderr


def test_a_state_is_kept_elsewhere(table: str, tmp_path: Path) -> None:
    place = ("--state", str(tmp_path / "x" / ".." / "elsewhere"))
    assert facts("state", "sync", table, *place)["num_files"] == 3
    assert facts("state", "verify", table, *place)["live_files"] == 3
    assert (tmp_path / "elsewhere" / "_last_checkpoint").exists()
    assert not (Path(table) / "_headrace").exists()


def test_an_indextables_table_has_nothing_to_sync(fixture_indextables: Path) -> None:
    result = headrace("state", "sync", str(fixture_indextables / "02_five_appends"))
    assert result.returncode != 0
    assert "CHECKPOINT INDEXTABLES" in result.stderr
