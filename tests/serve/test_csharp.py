"""The C# library: compiled here, and run over both of its backends, on three runtimes.

The runtimes are mono, CoreCLR with mono's compiler, and a .NET SDK with its own. Each one that is
not installed is skipped.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from headrace.serve.request import make_request
from headrace.serve.server import RunningServer
from tests.serve.conftest import Start
from tests.serve.listed import expected_listing, parse_listing, small_tables
from tests.serve.slow import COMMITS, Slowness, write_slow_table
from tests.waiting import wait_until

PROGRAM = Path(__file__).with_name("Program.cs")
_INVARIANT = {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
"""Neither the programs nor their compiler need ICU."""
_RUNTIME = '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"}}}'


@dataclass(frozen=True)
class Compiled:
    """A compiled program, and the command that starts it."""

    command: tuple[str, ...]
    environment: dict[str, str]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.command, *words],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> str:
        process = self.start(*words)
        output, errors = process.communicate(timeout=250)
        assert process.returncode == 0, output + errors
        return output


@pytest.fixture(scope="module", params=["mono", "coreclr", "dotnet"])
def program(
    request: pytest.FixtureRequest, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Compiled:
    folder = tmp_path_factory.mktemp(request.param)
    sources = [*map(str, sorted((library / "csharp").glob("*.cs"))), str(PROGRAM)]
    paths = [str(library), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        **_INVARIANT,
    }
    compile_with = {
        "mono": _compile_for_mono,
        "coreclr": _compile_for_coreclr,
        "dotnet": _compile_for_dotnet,
    }
    return Compiled(compile_with[request.param](folder, sources), environment)


def _compile_for_mono(folder: Path, sources: list[str]) -> tuple[str, ...]:
    if not shutil.which("mono"):
        pytest.skip("mono is not installed: apt install mono-mcs mono-runtime")
    return ("mono", str(_compile_with_mcs(folder, sources)))


def _compile_for_coreclr(folder: Path, sources: list[str]) -> tuple[str, ...]:
    package = find_spec("dotnetcore2")
    home = os.environ.get("HEADRACE_CORECLR")
    if home is None and package is not None and package.origin is not None:
        home = str(Path(package.origin).with_name("bin"))
    if home is None:
        pytest.skip("there is no CoreCLR: pip install dotnetcore2, or set HEADRACE_CORECLR")
    (framework,) = Path(home, "shared/Microsoft.NETCore.App").glob("*")
    assemblies = [framework / "mscorlib.dll", *sorted(framework.glob("System.*.dll"))]
    # CoreCLR lacks some types under the names of mono's assemblies, so its own are referenced.
    references = [f"-r:{path}" for path in assemblies if "WindowsRuntime" not in path.name]
    program = _compile_with_mcs(folder, ["-nostdlib", "-noconfig", *references, *sources])
    program.with_name("program.runtimeconfig.json").write_text(_RUNTIME)
    return (str(Path(home, "dotnet")), "exec", str(program))


def _compile_with_mcs(folder: Path, words: list[str]) -> Path:
    if not shutil.which("mcs"):
        pytest.skip("mono's compiler is not installed: apt install mono-mcs")
    program = folder / "program.exe"
    subprocess.run(["mcs", "-langversion:latest", f"-out:{program}", *words], check=True)
    return program


def _compile_for_dotnet(folder: Path, sources: list[str]) -> tuple[str, ...]:
    program = folder / "program.dll"
    dotnet = _compile_with_csc(program, ["-langversion:8.0", "-define:AWAIT_FOREACH", *sources])
    program.with_name("program.runtimeconfig.json").write_text(_RUNTIME)
    return (str(dotnet), "exec", "--roll-forward-on-no-candidate-fx", "2", str(program))


def _compile_with_csc(program: Path, words: list[str]) -> Path:
    """Compile with the compiler of a .NET SDK, and return the path of its runtime."""
    home = os.environ.get("HEADRACE_DOTNET")
    if not home:
        pytest.skip("HEADRACE_DOTNET does not name a .NET SDK, 3.1 or later")
    dotnet = Path(home, "dotnet")
    (compiler,) = Path(home, "sdk").glob("*/Roslyn/bincore/csc.dll")
    references = Path(home, "packs/Microsoft.NETCore.App.Ref").glob("*/ref/*/*.dll")
    options = ["-nologo", f"-out:{program}", *(f"-r:{path}" for path in references)]
    environment = {**os.environ, **_INVARIANT}
    subprocess.run([dotnet, compiler, *options, *words], env=environment, check=True)
    return dotnet


def test_a_project_that_checks_nulls_compiles_without_warnings(
    library: Path, tmp_path: Path
) -> None:
    sources = map(str, (library / "csharp").glob("*.cs"))
    checks = ["-nullable:enable", "-warnaserror+", "-target:library"]
    _compile_with_csc(tmp_path / "library.dll", [*checks, *sources])


EXPECTED = """\
bern 39
1000 2026-02-09 Bern 2023-11-14
equal True False
limit 7
broken off after 3
refused UNKNOWN_COLUMN
refused MALFORMED_REQUEST
refused MALFORMED_REQUEST
cancelled
"""


def test_a_program_scans_through_a_server(program: Compiled, server: RunningServer) -> None:
    address = f"http://127.0.0.1:{server.http_port}"
    assert program.run("http", "run", address, "lake/events") == EXPECTED


def test_a_program_scans_in_process(program: Compiled, lake: Path) -> None:
    output = program.run("process", "run", "-", str(lake / "events"))
    assert output == EXPECTED + "connector 5\n" + "connector INVALID_ARGUMENT\n" * 2


@pytest.mark.parametrize("backend", ["http", "process"])
def test_a_scanner_keeps_nothing_of_the_scans_that_have_ended(
    program: Compiled, backend: str
) -> None:
    output = program.run(backend, "plan", "http://127.0.0.1:1", "lake/events")
    scans, unit = output.split()[1:]
    assert int(scans) < 2, unit


def test_breaking_out_of_the_loop_stops_the_servers_scan(
    program: Compiled, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_slow_table(tmp_path / "lake")
    server = start(roots=(f"lake={tmp_path / 'lake'}",))
    server.service.describe(make_request("lake/slow"))
    slowness = Slowness(monkeypatch, seconds=0.02)
    process = program.start("http", "break", f"http://127.0.0.1:{server.http_port}", "lake/slow")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "left after 3\n"
        wait_until(lambda: server.service.slots.running == 0, within_s=1.0)
        assert process.poll() is None  # the loop has ended, but not the program
        assert slowness.reads < COMMITS
    finally:
        process.communicate("\n", timeout=30)


def test_a_program_lists_the_files_of_the_library_in_process(program: Compiled) -> None:
    folders = [str(fixture.table) for fixture in small_tables()]
    listing = parse_listing(program.run("process", "list", "-", *folders))
    assert {name: expected_listing(Path(name)) for name in folders} == listing


def test_a_program_lists_the_files_of_the_library_remotely(
    program: Compiled, tables: RunningServer, fixture_tables: Path
) -> None:
    folders = {
        f"tables/{fixture.table.relative_to(fixture_tables)}": fixture.table
        for fixture in small_tables()
    }
    address = f"http://127.0.0.1:{tables.http_port}"
    listing = parse_listing(program.run("http", "list", address, *folders))
    assert {name: expected_listing(table) for name, table in folders.items()} == listing
