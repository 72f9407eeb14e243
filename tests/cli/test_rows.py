"""`headrace rows` as users run it: in a separate process."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.cli.rows import split_names
from tests.rows.lake import array, field, mapping, write_table

HEADRACE = [sys.executable, "-m", "headrace", "rows"]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIELDS = [
    field("id", "long"),
    field("name", "string"),
    field("price", "decimal(10,2)"),
    field("ratio", "double"),
    field("raw", "binary"),
    field("day", "date"),
    field("at", "timestamp"),
    field("tags", array("double")),
    field("by", mapping("string", "long")),
]
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": ["a,b", None, "tab\there"],
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(10, 2)),
        "ratio": [0.5, float("nan"), float("-inf")],
        "raw": [b"\x00\xff", None, b""],
        "day": [date(2026, 3, 1), None, date(1, 1, 1)],
        "at": pa.array([NOON, None, NOON], pa.timestamp("us", "UTC")),
        "tags": [[1.0, float("nan")], None, []],
        "by": pa.array([[("x", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(write_table(tmp_path / "table", FIELDS, [ROWS]))


@pytest.fixture
def large_table(tmp_path: Path) -> str:
    """Write more rows than a pipe holds."""
    data = pa.table({"id": range(200_000)})
    return str(write_table(tmp_path / "large", [field("id", "long")], [data] * 3))


def rows(*words: str) -> bytes:
    return subprocess.run([*HEADRACE, *words], check=True, capture_output=True).stdout


def test_without_a_terminal_rows_are_json_lines(table: str) -> None:
    first, second, third = map(json.loads, rows(table).splitlines())
    assert first == {
        "id": 1,
        "name": "a,b",
        "price": "1.50",
        "ratio": 0.5,
        "raw": "AP8=",
        "day": "2026-03-01",
        "at": "2026-03-01T12:00:00Z",
        "tags": [1.0, "NaN"],
        "by": {"x": 1},
    }
    assert second == dict.fromkeys(first) | {"id": 2, "ratio": "NaN"}
    assert (third["ratio"], third["raw"], third["tags"]) == ("-Infinity", "", [])


def test_csv_has_a_header_and_nested_values_as_json(table: str) -> None:
    head, first, second, _ = csv.reader(io.StringIO(rows(table, "-f", "csv").decode()))
    assert head == [field["name"] for field in FIELDS]
    assert (first[1], first[4], first[7], first[8]) == ("a,b", "AP8=", '[1.0,"NaN"]', '{"x":1}')
    assert second == ["2", "", "", "nan", "", "", "", "", ""]


@pytest.mark.parametrize("output", ["arrow", "parquet"])
def test_binary_formats_have_the_same_rows(table: str, output: str) -> None:
    written = rows(table, "--format", output)
    stream = pa.BufferReader(written)
    read = pq.read_table(stream) if output == "parquet" else pa.ipc.open_stream(stream).read_all()
    assert read.select(["id", "name", "day", "raw"]).equals(
        ROWS.select(["id", "name", "day", "raw"])
    )


def test_the_readable_format_is_a_table(table: str) -> None:
    head, line, first, *_ = rows(table, "-f", "table", "-c", "id,name").decode().splitlines()
    assert head.split() == ["id", "name"]
    assert set(line) == {"─", " "}
    assert first.split() == ["1", "a,b"]


def test_a_table_without_rows_still_has_a_header(table: str) -> None:
    shown = rows(table, "-f", "table", "-c", "id,name", "--limit", "0").decode()
    assert shown.splitlines()[0].split() == ["id", "name"]


def test_on_a_terminal_the_table_is_the_default(table: str) -> None:
    ours, theirs = pty.openpty()
    result = subprocess.run([*HEADRACE, table, "-c", "id"], check=False, stdout=theirs)
    os.close(theirs)
    assert result.returncode == 0
    assert os.read(ours, 4).strip() == b"id"
    os.close(ours)


def test_binary_formats_are_not_written_to_a_terminal(table: str) -> None:
    ours, theirs = pty.openpty()
    result = subprocess.run(
        [*HEADRACE, table, "-f", "parquet"], check=False, stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    os.close(ours)
    assert result.returncode == 2
    assert b"binary" in result.stderr


def seen_on_a_terminal(command: list[str], answer: Path) -> bytes:
    """Return what a user sees of a command whose output goes into a file."""
    ours, theirs = pty.openpty()
    with answer.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=theirs)
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # this is how a terminal signals its end
        while piece := os.read(ours, 65_536):
            seen += piece
    os.close(ours)
    assert process.wait() == 0
    return seen


@pytest.mark.parametrize(("command", "title"), [("rows", b"reading rows"), ("files", b"listing")])
def test_a_terminal_shows_a_progress_bar_while_the_output_goes_to_a_file(
    large_table: str, tmp_path: Path, command: str, title: bytes
) -> None:
    words = [sys.executable, "-m", "headrace", command, large_table]
    assert title in seen_on_a_terminal(words, tmp_path / "answer")
    assert (tmp_path / "answer").stat().st_size


def test_without_a_terminal_no_progress_bar_is_drawn(large_table: str) -> None:
    result = subprocess.run([*HEADRACE, large_table], check=True, capture_output=True)
    assert result.stderr == b""


def test_where_columns_limit_and_version_narrow_the_rows(table: str) -> None:
    words = (table, "--where", "id >= 2", "--columns", "id", "-c", "name", "--limit", "1")
    assert rows(*words) == b'{"id":2,"name":null}\n'
    assert rows(table, "--version", "0") == b""


def test_metrics_cover_the_log_and_the_data_files(table: str) -> None:
    result = subprocess.run(
        [*HEADRACE, table, "--metrics", "json"], check=True, capture_output=True
    )
    numbers = json.loads(result.stderr)
    assert (numbers["commits_scanned"], numbers["data.files_read"]) == (2, 1)


def test_a_closed_pipe_ends_the_command_quietly(large_table: str) -> None:
    with subprocess.Popen(
        [*HEADRACE, large_table], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert (errors, process.returncode) == (b"", 0)


@pytest.mark.parametrize("output", ["jsonl", "arrow"])
def test_an_interrupt_ends_the_command_quietly_with_its_own_status(
    large_table: str, output: str
) -> None:
    with subprocess.Popen(
        [*HEADRACE, large_table, "-f", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        errors = process.stderr.read()
    assert (errors, process.returncode) == (b"", 130)


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--where", "id + 1 = 2"), 2, "UNSUPPORTED_PREDICATE"),
        (("--columns", "nobody"), 2, "UNKNOWN_COLUMN"),
        (("--columns", ""), 2, "INVALID_ARGUMENT"),
        (("--where", "name.first = 'a'"), 2, "UNKNOWN_COLUMN"),
        (("-o", "files_at_once=0"), 2, "INVALID_ARGUMENT"),
        ((), 4, "DATA_FILE_NOT_FOUND"),
    ],
)
def test_a_failure_has_a_code_and_a_status(
    table: str, words: tuple[str, ...], status: int, code: str
) -> None:
    (Path(table) / "part-0.parquet").unlink()
    result = subprocess.run([*HEADRACE, table, *words], check=False, capture_output=True, text=True)
    assert result.returncode == status
    assert code in result.stderr
    assert "Traceback" not in result.stderr


def test_names_with_commas_are_quoted_in_backticks() -> None:
    assert split_names(["a, b", "`c,d`,e"]) == ["a", "b", "c,d", "e"]
