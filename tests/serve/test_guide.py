"""The guide snippets that need a server run against one."""

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from headrace.serve import cabi
from headrace.serve.server import RunningServer
from tests.docs.page import _FENCE, DOCS


def snippets(page: str, *, language: str = "python") -> list[str]:
    text = (DOCS / "guide" / page).read_text(encoding="utf-8")
    return [fence["body"] for fence in _FENCE.finditer(text) if fence["language"] == language]


def addressed(code: str, server: RunningServer) -> str:
    """Return a snippet with the addresses of a server."""
    for written, real in (
        ("delta-server:50051", f"127.0.0.1:{server.http_port}"),
        ("delta-server:50052", f"127.0.0.1:{server.flight_port}"),
        ("…", "none"),
    ):
        code = code.replace(written, real)
    return code


def run(code: str, server: RunningServer, names: dict[str, Any]) -> None:
    exec(compile(addressed(code, server), "guide", "exec"), names)


def test_the_snippets_for_python_engines_run(server: RunningServer) -> None:
    names: dict[str, Any] = {}
    blocks = [code for code in snippets("clients.md") if "spark." not in code]
    assert len(blocks) == 4
    for code in blocks:
        run(code, server, names)


def test_the_snippets_for_python_and_flight_run(
    server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for code in snippets("serving.md"):
        run(code, server, names)
    printed = capsys.readouterr().out
    assert "date=2026-02-0" in printed
    assert "'ending': 'complete'" in printed


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_snippet_for_javascript_runs(server: RunningServer, tmp_path: Path) -> None:
    (code,) = snippets("clients.md", language="javascript")
    program = tmp_path / "snippet.mjs"
    program.write_text(addressed(code, server), encoding="utf-8")
    result = subprocess.run(["node", program], check=True, capture_output=True, text=True)
    assert len(result.stdout.splitlines()) == 156


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="this Python is not shared"
)
def test_the_snippet_and_the_command_for_c_compile(library: Path, tmp_path: Path) -> None:
    (code,) = snippets("c-and-csharp.md", language="c")
    above, call, below = code.partition("int32_t status")
    program = tmp_path / "snippet.c"
    text = f"{above}int main(void) {{\n{call}{below}return status < 0;\n}}\n"
    program.write_text(text, encoding="utf-8")
    checks = ["cc", "-Wall", "-Werror", "-fsyntax-only", f"-I{library}"]
    subprocess.run([*checks, program], check=True)
    consoles = "".join(snippets("c-and-csharp.md", language="console"))
    (command,) = (line[2:] for line in consoles.splitlines() if line.startswith("$ cc "))
    subprocess.run(command.replace("/opt/headrace", f"{library}").split(), check=True, cwd=tmp_path)
    assert (tmp_path / "example").exists()


def test_the_guide_names_every_function_of_the_header() -> None:
    header = Path(cabi.__file__).with_name("headrace.h").read_text()
    guide = (DOCS / "guide" / "c-and-csharp.md").read_text(encoding="utf-8")
    functions = ("delta_scan_lazy", "headrace_scan", "headrace_open_stream", "headrace_last_error")
    assert all(name in header and f"`{name}`" in guide for name in functions)
