"""The C library: built here, and called by C programs."""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.lake.action import add, opening
from tests.lake.log import commit_path, write_history
from tests.serve.listed import expected_listing, parse_listing, small_tables

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(
        not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="this Python is not shared"
    ),
]
HERE = Path(__file__).parent
HOST, LISTER, FORKER, STREAMER = (
    HERE / name for name in ("host.c", "lister.c", "forker.c", "streamer.c")
)


def compile_program(source: Path, library: Path) -> Path:
    program = library / source.stem
    includes = [f"-I{HERE}", f"-I{library}"]
    options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", *includes, f"-L{library}"]
    subprocess.run(
        ["cc", *options, "-o", program, source, "-lheadrace", "-lpthread", f"-Wl,-rpath,{library}"],
        check=True,
    )
    return program


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, timeout=120
    )


def test_a_host_program_gets_the_documented_results(library: Path, lake: Path) -> None:
    result = run(compile_program(HOST, library), str(lake / "events"))
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "all 156",
        "again 156",
        "limit 7",
        "predicate 39",
        "stopped 1 after 5",
        "missing -3 TABLE_NOT_FOUND",
        "predicate -2 MALFORMED_REQUEST",
        "column -2 UNKNOWN_COLUMN",
        "null -2",
        "utf8 -2",
        "largest limit 156, larger -2",
        "threads 156 156 156 156",
        "nested 3",
        'files 0 39 {"date":"2026-02-09","city":"Bern"}',
        "cancelled -7 after 2",
        "stream of files 156",
        "stream of rows 30",
        "child 156",
        "child ended 0",
        "after 156",
    ]


@pytest.mark.parametrize("python_path", [False, True])
def test_a_library_without_headrace_reports_it(
    library: Path, lake: Path, tmp_path: Path, *, python_path: bool
) -> None:
    program = compile_program(library / "example.c", library)
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace" / "__init__.py").write_text("raise ImportError('not this one')")
    result = subprocess.run(
        [program, str(lake / "events")],
        env={"HEADRACE_PYTHONPATH": str(tmp_path)}
        | ({"PYTHONPATH": str(tmp_path)} if python_path else {}),
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert "START" in result.stderr


def test_children_scan_that_were_forked_while_other_threads_scanned(
    library: Path, lake: Path
) -> None:
    result = run(compile_program(FORKER, library), str(lake / "events"))
    assert (result.stdout, result.stderr) == ("children 5, wrong 0\n", "")


def test_a_c_program_lists_the_files_of_the_library(library: Path) -> None:
    folders = [str(fixture.table) for fixture in small_tables()]
    result = run(compile_program(LISTER, library), *folders)
    assert {name: expected_listing(Path(name)) for name in folders} == parse_listing(result.stdout)


def test_the_library_is_built_under_both_names(library: Path) -> None:
    names = {path.name for path in library.iterdir()}
    assert {"libheadrace.so", "libdelta_lazy.so", "headrace.h", "example.c", "csharp"} <= names


@pytest.mark.parametrize("beginning", ["a", "aa"])
def test_a_long_error_is_cut_between_two_characters(library: Path, beginning: str) -> None:
    program = compile_program(library / "example.c", library)
    done = run(program, f"/tmp/{beginning}{'é' * 4_000}")  # decodes the output strictly
    assert done.returncode
    assert 4_000 < len(done.stderr.encode()) <= 4_096


def test_a_warning_is_not_printed_by_the_host(library: Path, tmp_path: Path) -> None:
    table = write_history(tmp_path / "events", [[*opening(), add("a", size=7)]])
    (table / "_delta_log" / f"{0:020}.crc").write_text("not json")
    done = run(compile_program(library / "example.c", library), str(table))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"7\t{table}/a\n", "")


@pytest.mark.parametrize("kind", ["files", "rows"])
def test_an_error_in_the_middle_of_a_stream_has_a_code_and_no_traceback(
    library: Path, tmp_path: Path, kind: str
) -> None:
    table = write_history(tmp_path / "events", [[*opening()], [add("gone.parquet")]])
    if kind == "files":
        commit_path(table, 1).write_text('{"add": {"path": 1}}')
    request = json.dumps({"table": str(table), "kind": kind})
    done = run(compile_program(STREAMER, library), request)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3
    _, last_error, stream_error = done.stdout.splitlines()
    code = "CORRUPT_LOG" if kind == "files" else "DATA_FILE_NOT_FOUND"
    assert last_error.startswith(f"{code}: ")
    assert last_error in stream_error
    assert "Traceback" not in done.stdout
