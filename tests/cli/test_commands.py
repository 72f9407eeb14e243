"""The command line as users run it: in a separate process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from headrace import __version__
from tests.lake.action import add, opening, remove
from tests.lake.log import commit_path, log_of, write_history

HEADRACE = [sys.executable, "-m", "headrace"]


def headrace(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HEADRACE, *words], check=False, capture_output=True, text=True)


@pytest.fixture
def table(tmp_path: Path) -> str:
    history = [
        [*opening(), add("a.parquet"), add("b%20c.parquet")],
        [add("d.parquet"), remove("a.parquet")],
    ]
    return str(write_history(tmp_path / "table", history))


@pytest.fixture
def large_table(tmp_path: Path) -> str:
    """Write enough commits that reading all of them takes a while."""
    commits = [[add(f"{v}-{i}.parquet") for i in range(200)] for v in range(300)]
    commits[0] = [*opening(), *commits[0]]
    return str(write_history(tmp_path / "large", commits))


def test_files_are_listed_newest_first(table: str) -> None:
    result = headrace("files", table, "--format", "paths")
    assert result.stdout.splitlines() == [f"{table}/d.parquet", f"{table}/b c.parquet"]
    assert result.returncode == 0


def test_the_table_format_has_a_header_and_a_line_per_file(table: str) -> None:
    head, *lines = headrace("files", table).stdout.splitlines()
    assert head.split()[:2] == ["BYTES", "MODIFIED"]
    assert [line.split("  ")[-1].strip() for line in lines] == ["d.parquet", "b c.parquet"]


@pytest.mark.parametrize("command", ["files", "explain"])
def test_a_part_of_a_condition_that_is_not_evaluated_is_named(table: str, command: str) -> None:
    result = headrace(command, table, "--where", "id > 1 AND abs(id) = 2")
    notes = [
        line for line in (result.stdout + result.stderr).splitlines() if "not evaluated" in line
    ]
    assert [("ABS(id) = 2" in line, "id > 1" in line) for line in notes] == [(True, False)]


def test_jsonl_has_one_document_per_line(table: str) -> None:
    first = json.loads(headrace("files", table, "--format", "jsonl").stdout.splitlines()[0])
    assert first["path"] == "d.parquet"
    assert first["version"] == 1


def test_arrow_is_an_ipc_stream(table: str) -> None:
    result = subprocess.run(
        [*HEADRACE, "files", table, "--format", "arrow"], check=True, capture_output=True
    )
    listed = pa.ipc.open_stream(result.stdout).read_all()
    assert listed["path"].to_pylist() == ["d.parquet", "b%20c.parquet"]


def test_arrow_of_an_empty_table_is_still_a_stream(tmp_path: Path) -> None:
    table = write_history(tmp_path, [opening()])
    result = subprocess.run(
        [*HEADRACE, "files", str(table), "--format", "arrow"], check=True, capture_output=True
    )
    assert pa.ipc.open_stream(result.stdout).read_all().num_rows == 0


def test_metrics_are_written_to_standard_error_as_one_document(table: str) -> None:
    result = headrace("files", table, "--format", "paths", "--metrics", "json")
    assert len(result.stdout.splitlines()) == 2
    metrics = json.loads(result.stderr)
    expected = {
        "adds_emitted": 2,
        "delta.lazy.files_emitted": 2,
        "total_metadata_rows": 6,
        "non_file_action_rows": 2,
        "removes_processed": 1,
        "commits_scanned": 2,
        "dedup_hashmap_size": 3,
        "strategy": "reverse",
        "rule": "no-checkpoint",
        "commit_files": 2,
        "commit_bytes": sum(path.stat().st_size for path in log_of(Path(table)).iterdir()),
    }
    assert expected.items() <= metrics.items()
    assert 0 < metrics["delta.lazy.time_to_first_file_ms"] <= metrics["duration_ms"]


def test_readable_metrics_report_the_actual_work(table: str) -> None:
    result = headrace("files", table, "--metrics", "table", "-o", "tripwire=strict")
    title, rows = result.stderr.split("┏", maxsplit=1)
    cells = [line.split("│")[1:3] for line in rows.splitlines() if line.startswith("│")]
    metrics = {name.strip(): value.strip() for name, value in cells if name.strip()}
    assert "\nforward by rule tripwire: " in title  # below the line of the event
    assert (metrics["strategy"], metrics["rule"]) == ("forward", "tripwire")
    assert (metrics["adds_emitted"], metrics["fallbacks"]) == ("2", "1")


def test_limit_and_version_narrow_the_list(table: str) -> None:
    words = ("files", table, "--format", "paths")
    assert len(headrace(*words, "--limit", "1").stdout.splitlines()) == 1
    assert headrace(*words, "--limit", "0").stdout == ""
    assert headrace(*words, "--version", "0").stdout.splitlines() == [
        f"{table}/a.parquet",
        f"{table}/b c.parquet",
    ]


def test_a_closed_pipe_ends_the_command_quietly(large_table: str) -> None:
    with subprocess.Popen(
        [*HEADRACE, "files", large_table, "--format", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert errors == b""
    assert process.returncode == 0


def test_the_first_line_appears_before_the_scan_ends(large_table: str) -> None:
    """The reader takes one line and then blocks the writer, because the pipe is small."""
    with subprocess.Popen(
        [*HEADRACE, "files", large_table, "--format", "jsonl"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert json.loads(first)["version"] == 299
        assert process.poll() is None
        process.kill()


def test_an_interrupt_ends_the_command_quietly_with_its_own_status(large_table: str) -> None:
    with subprocess.Popen(
        [*HEADRACE, "files", large_table, "--format", "jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130  # although nobody reads what it writes
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("files", "{table}", "--storage-option", "regoin=x"), 2, "UNKNOWN_STORAGE_OPTION"),
        (("files", "/no/such/table"), 3, "TABLE_NOT_FOUND"),
        (("files", "{table}", "--version", "9"), 3, "VERSION_NOT_FOUND"),
        (("files", "{table}", "--where", "nonsense ="), 2, "PREDICATE_SYNTAX"),
        (("files", "{table}", "--where", "nobody = 1"), 2, "UNKNOWN_COLUMN"),
        (("files", "{table}", "--as-of", "some day"), 2, "INVALID_ARGUMENT"),
        (("files", "{table}", "--as-of", "2000-01-01"), 3, "TIMESTAMP_NOT_FOUND"),
        (("files", "hdfs://host/table"), 5, "UNSUPPORTED_STORE"),
        (("files", ""), 2, "INVALID_ARGUMENT"),
        (("files", "file://elsewhere/data"), 2, "INVALID_ARGUMENT"),
        (("files", "{table}", "--limit", "9" * 20), 2, "INVALID_ARGUMENT"),
        (("files", "{table}", "-o", "batch_rows=" + "9" * 20), 2, "INVALID_ARGUMENT"),
        (("snapshot", "/no/such/table"), 3, "TABLE_NOT_FOUND"),
        (("explain", "/no/such/table"), 3, "TABLE_NOT_FOUND"),
    ],
)
def test_a_failure_has_a_code_and_a_status(
    table: str, words: tuple[str, ...], status: int, code: str
) -> None:
    result = headrace(*(word.format(table=table) for word in words))
    assert result.returncode == status
    assert code in result.stderr
    assert "Traceback" not in result.stderr


def test_damage_has_a_status_of_its_own(table: str) -> None:
    commit_path(Path(table), 1).write_text('{"add": {"path"')
    result = headrace("files", table)
    assert result.returncode == 4
    assert "CORRUPT_LOG" in result.stderr


@pytest.mark.parametrize("command", ["files", "rows", "snapshot", "explain"])
def test_damage_names_the_table_once(table: str, command: str) -> None:
    commit_path(Path(table), 0).write_text('{"add": {"path"')
    result = headrace(command, table)
    assert f"error CORRUPT_LOG: {table}: _delta_log/" in result.stderr
    assert result.stderr.count(table) == 1


def test_a_gap_names_the_table_once(table: str) -> None:
    commit_path(Path(table), 0).unlink()
    result = headrace("files", table)
    assert "error LOG_GAP" in result.stderr
    assert result.stderr.count(table) == 1


def test_snapshot_shows_version_and_log_health(table: str) -> None:
    facts = json.loads(headrace("snapshot", table, "--format", "json").stdout)
    assert facts["version"] == 1
    assert facts["log"]["commits_since_checkpoint"] == 2
    assert facts["log"]["checkpoint_kind"] is None


def test_snapshot_has_a_readable_format(table: str) -> None:
    shown = headrace("snapshot", table).stdout
    for word in ("version", "protocol", "features", "partitioned by", "checkpoint", "column"):
        assert word in shown


def test_explain_prints_every_phase_and_plan(table: str) -> None:
    shown = headrace("explain", table, "--limit", "5").stdout
    for word in ("ReadHint", "ListLog", "ReadProtocolAndMetadata", "CommitReplay", "ScanJson"):
        assert word in shown


def test_help_has_examples(table: str) -> None:
    assert "Exit status" in headrace("--help").stdout
    environment = {**os.environ, "COLUMNS": "200"}
    shown = subprocess.run(
        [*HEADRACE, "files", "--help"], check=True, capture_output=True, text=True, env=environment
    ).stdout
    assert "--where" in shown
    assert "headrace files /data/events" in shown
    assert table not in shown


def test_the_version_is_that_of_the_package() -> None:
    assert headrace("--version").stdout.strip() == f"headrace {__version__}"


def test_a_usage_error_names_the_option_and_the_choices(table: str) -> None:
    result = headrace("files", table, "--format", "zz")
    assert result.returncode == 2
    words = " ".join(result.stderr.replace("│", " ").split())
    assert "Invalid value for '--format' / '-f': 'zz' is not one of 'table'" in words
