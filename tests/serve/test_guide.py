"""The guide snippets that need a server run against one."""

from pathlib import Path
from typing import Any

import pytest

from headrace.serve import cabi
from headrace.serve.server import RunningServer
from tests.docs.page import _FENCE, DOCS


def snippets(page: str) -> list[str]:
    text = (DOCS / "guide" / page).read_text(encoding="utf-8")
    return [fence["body"] for fence in _FENCE.finditer(text) if fence["language"] == "python"]


def run(code: str, server: RunningServer, names: dict[str, Any]) -> None:
    for written, real in (
        ("delta-server:50051", f"127.0.0.1:{server.http_port}"),
        ("delta-server:50052", f"127.0.0.1:{server.flight_port}"),
        ("…", "none"),
    ):
        code = code.replace(written, real)
    exec(compile(code, "guide", "exec"), names)


def test_the_snippets_for_duckdb_polars_and_datafusion_run(server: RunningServer) -> None:
    names: dict[str, Any] = {}
    blocks = [code for code in snippets("clients.md") if "spark." not in code]
    assert len(blocks) == 3
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


def test_the_guide_names_every_function_of_the_header() -> None:
    header = Path(cabi.__file__).with_name("headrace.h").read_text()
    guide = (DOCS / "guide" / "c-and-csharp.md").read_text(encoding="utf-8")
    functions = ("delta_scan_lazy", "headrace_scan", "headrace_open_stream", "headrace_last_error")
    assert all(name in header and f"`{name}`" in guide for name in functions)
