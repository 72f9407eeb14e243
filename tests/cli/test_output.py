"""Output to full disks, closed streams and narrow locales: the command ends cleanly."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.lake.action import add, opening
from tests.lake.log import write_history
from tests.rows.lake import field, write_table

HEADRACE = [sys.executable, "-m", "headrace"]
FULL = Path("/dev/full")


@pytest.fixture
def table(tmp_path: Path) -> str:
    rows = [pa.table({"id": range(10)})] * 2
    return str(write_table(tmp_path / "table", [field("id", "long")], rows))


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ("files", "{table}", "-f", "paths"),
        ("files", "{table}", "-f", "arrow"),
        ("rows", "{table}", "-f", "csv"),
        ("rows", "{table}", "-f", "parquet"),
        ("snapshot", "{table}"),
        ("--help",),
    ],
)
def test_a_full_disk_is_a_typed_error(table: str, words: tuple[str, ...]) -> None:
    command = [*HEADRACE, *(word.format(table=table) for word in words)]
    with FULL.open("wb") as full:
        result = subprocess.run(
            command, check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert "OUTPUT_FAILED" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.returncode == 5


def test_without_standard_output_the_command_fails(table: str) -> None:
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *HEADRACE, "files", table],
        check=False,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "OUTPUT_FAILED: standard output" in result.stderr
    assert result.returncode == 5


@pytest.mark.parametrize(
    "words", [("snapshot", "{table}"), ("--help",), ("files", "--help"), ("--version",)]
)
def test_a_closed_pipe_ends_readable_output_quietly_too(table: str, words: tuple[str, ...]) -> None:
    command = [*HEADRACE, *(word.format(table=table) for word in words)]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        result = subprocess.run(command, check=False, stdout=nobody, stderr=subprocess.PIPE)
    assert (result.stderr, result.returncode) == (b"", 0)


@pytest.mark.parametrize("output", ["table", "paths", "jsonl"])
def test_paths_are_utf_8_whatever_the_locale(tmp_path: Path, output: str) -> None:
    table = write_history(tmp_path, [[*opening(), add("Zürich.parquet")]])
    narrow = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [*HEADRACE, "files", str(table), "-f", output], check=True, capture_output=True, env=narrow
    )
    assert "Zürich.parquet".encode() in result.stdout


def test_a_time_outside_the_calendar_is_printed_as_a_number(tmp_path: Path) -> None:
    file = add("a")
    file["add"]["modificationTime"] = 1 << 62
    table = write_history(tmp_path, [[*opening(), file]])
    result = subprocess.run(
        [*HEADRACE, "files", str(table)], check=True, capture_output=True, text=True
    )
    assert f"{1 << 62} ms" in result.stdout


def test_a_path_cannot_move_the_cursor(tmp_path: Path) -> None:
    table = write_history(tmp_path, [[*opening(), add("a\x1b[2Jb")]])
    result = subprocess.run([*HEADRACE, "files", str(table)], check=True, capture_output=True)
    assert b"\x1b" not in result.stdout


@pytest.mark.parametrize("output", ["parquet", "arrow"])
def test_interrupted_output_does_not_look_complete(table: str, output: str) -> None:
    (Path(table) / "part-1.parquet").unlink()
    result = subprocess.run(
        [*HEADRACE, "rows", table, "-f", output], check=False, capture_output=True
    )
    end = {"parquet": b"PAR1", "arrow": b"\xff\xff\xff\xff\0\0\0\0"}[output]
    assert result.returncode == 4
    assert not result.stdout[4:].endswith(end)  # a Parquet file starts with these bytes, too
