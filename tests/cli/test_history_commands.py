"""Counts, history, changes and schema, in a separate process."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.command import headrace

HEADRACE = [sys.executable, "-m", "headrace"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table"
    rows = pa.table({"id": [1, 2, 3], "city": ["Bern", "Bern", None]})
    feed = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(path, rows, partition_by=["city"], configuration=feed)
    write_deltalake(path, pa.table({"id": [4], "city": ["La Chaux"]}), mode="append")
    DeltaTable(path).delete("id = 1")
    return str(path)


def test_count_prints_the_number_and_how_it_was_determined(table: str) -> None:
    result = headrace("count", table)
    assert (result.stdout, result.stderr) == ("3\n", "note: 3 files by statistics, 0 files read\n")
    count = json.loads(headrace("count", table, "--where", "id = 2", "--json").stdout)
    assert count == {"version": 2, "rows": 1, "files_from_statistics": 1, "files_read": 0}
    assert headrace("count", table, "--version", "0").stdout == "3\n"


def test_files_are_counted(table: str) -> None:
    assert headrace("files", table, "--count").stdout == "3\n"
    assert headrace("files", table, "--count", "--where", "city = 'Bern'").stdout == "1\n"


def test_history_lists_the_newest_commit_first(table: str) -> None:
    history = json.loads(headrace("history", table, "--json").stdout)
    assert [entry["version"] for entry in history] == [2, 1, 0]
    lines = headrace("history", table, "--limit", "1").stdout
    assert "DELETE" in lines
    assert "num_deleted_rows=1" in lines
    assert "WRITE" not in lines


def test_history_has_one_line_per_commit_however_narrow_the_terminal(table: str) -> None:
    lines = headrace("history", table, COLUMNS="40", TTY_COMPATIBLE="1").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["VERSION", "2", "1", "0"]
    assert lines[1].index("num_added_files=") == lines[0].index("METRICS")


def test_a_log_without_a_checkpoint_has_no_commits_since_it(table: str) -> None:
    lines = headrace("snapshot", table).stdout.splitlines()
    log, checkpoint = (line for line in lines if line.startswith(("log ", "checkpoint ")))
    assert log.startswith("log             3 commits (")
    assert checkpoint.startswith("checkpoint      none:")


def test_changes_are_files_or_rows(table: str) -> None:
    files = [json.loads(line) for line in headrace("changes", table).stdout.splitlines()]
    assert [file["version"] for file in files][:3] == [0, 0, 1]
    assert files[2]["path"].startswith("city=La%2520Chaux/")
    result = headrace("changes", table, "--since", "1", "--rows", "--columns", "id")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["id"], row["_change_type"], row["_commit_version"]) for row in rows] == [
        (4, "insert", 1),
        (1, "delete", 2),
    ]


def test_readable_output_shows_decoded_paths(table: str) -> None:
    lines = headrace("changes", table, "--since", "1", "--format", "table").stdout.splitlines()
    assert lines[0].split() == ["version", "kind", "size_bytes", "path"]
    assert "city=La%20Chaux/" in lines[2]  # this is the name of the folder
    assert "city=La%20Chaux/" in headrace("files", table).stdout
    assert "city=La%2520Chaux/" in headrace("files", table, "--format", "jsonl").stdout


def test_a_range_may_consist_of_times(table: str) -> None:
    assert len(headrace("changes", table, "--since", "yesterday").stdout.splitlines()) >= 4
    assert headrace("changes", table, "--since", "2100-01-01").stdout == ""
    result = headrace("changes", table, "--since", "1 hour ago", "--until", "0")
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["--since", "soon"],
        ["--since", "9"],
        ["--where", "id = 1"],
        ["--columns", "id"],
        ["--follow", "--until", "3"],
        ["--rows", "--where", "nope = 1"],
    ],
    ids=str,
)
def test_wrong_arguments_are_a_request_error(table: str, words: list[str]) -> None:
    result = headrace("changes", table, *words)
    assert result.returncode == 2
    assert result.stdout == ""
    if words[0] == "--since":
        assert result.stderr.startswith("error INVALID_ARGUMENT: --since: ")


@pytest.mark.parametrize("words", [[], ["--rows"]], ids=str)
def test_new_commits_are_followed_until_an_interrupt(table: str, words: list[str]) -> None:
    follow = [*HEADRACE, "changes", table, "--follow", "--every", "0.05", "--since", "2", *words]
    with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # from version 2
        write_deltalake(table, pa.table({"id": [9], "city": ["Chur"]}), mode="append")
        for line in process.stdout:
            change = json.loads(line)
            if change.get("version", change.get("_commit_version")) == 3:
                break
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130


def test_the_schema_is_that_of_a_version(tmp_path: Path) -> None:
    path = tmp_path / "t"
    nested = pa.array([{"x": 1}], pa.struct([("x", pa.int64())]))
    write_deltalake(path, pa.table({"id": [1], "s": nested, "p": ["a"]}), partition_by=["p"])
    write_deltalake(path, pa.table({"id": [1], "n": [2.5]}), mode="append", schema_mode="merge")
    first = headrace("schema", str(path), "--version", "0").stdout.splitlines()
    assert first == ["id long", "s struct", "  x long", "p string (partition)"]
    assert "n double" in headrace("schema", str(path)).stdout
    schema = json.loads(headrace("schema", str(path), "--format", "json").stdout)
    assert [field["name"] for field in schema["fields"]] == ["id", "s", "p", "n"]
    assert "s: struct<x: int64>" in headrace("schema", str(path), "--format", "arrow").stdout
