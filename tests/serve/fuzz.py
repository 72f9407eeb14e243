"""Fuzz the server for several minutes; run by `make serve-fuzz`.

schemathesis generates requests from the OpenAPI description of a running server, and fails on any
status of 500 and on responses that the description does not list. atheris fuzzes the predicate
parser, guided by coverage, and fails on anything but a typed error.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module, reload
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.serve import condition, request
from headrace.serve.openapi import describe_api
from headrace.serve.server import RunningServer
from headrace.serve.setting import ServerSettings
from tests.docs.lake import write_demo_lake

_TOKENS = (
    *("{", "}", "}", "[", "]", ",", ":", " ", "null", "true", "1", "-2.50", "1e400", "NaN"),
    *('"a"', '"a.b"', '"`x``y`"', '""', '"\\ud800"', '"\'"', '"table"', '"where"', '"limit"'),
    *(f'"{name}":' for name in ("$and", "$or", "$not", "$in", "$eq", "$is_null", "$starts_with")),
    *('"a":', '"$x":', '{"a":', '[{"a":1}]', '{"$gt":1}'),
)
SECONDS = int(os.environ.get("HEADRACE_FUZZ_SECONDS", "60"))


def fuzz_interface() -> None:
    """Send requests of every kind that the description allows, and of kinds that it does not."""
    with tempfile.TemporaryDirectory() as folder:
        lake = write_demo_lake(Path(folder)).parent
        with RunningServer(ServerSettings(roots=(f"lake={lake}",), listen="127.0.0.1:0")) as server:
            described = Path(folder, "openapi.json")
            described.write_text(json.dumps(_about_one_table(describe_api())))
            program = Path(sys.executable).with_name("schemathesis")
            url = f"http://127.0.0.1:{server.http_port}"
            subprocess.run(
                [
                    *(program, "run", described, "--url", url),
                    *("--checks", "not_a_server_error,status_code_conformance"),
                    *("--max-examples", str(SECONDS * 5), "--workers", "1"),
                ],
                check=True,
            )


def _about_one_table(description: dict[str, Any]) -> dict[str, Any]:
    """Restrict the description to one table, so that most requests reach it."""
    restricted: dict[str, Any] = json.loads(json.dumps(description))
    restricted["components"]["schemas"]["Request"]["properties"]["table"] = {
        "enum": ["lake/events"]
    }
    for path in restricted["paths"].values():
        for parameter in path["get"].get("parameters", []):
            if parameter["name"] == "table":
                parameter["schema"] = {"enum": ["lake/events"]}
    return restricted


def fuzz_predicates() -> None:
    """Feed arbitrary bytes to the parsers of predicates and requests."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["json", "headrace.serve"]):
        for module in ("headrace.serve.condition", "headrace.serve.request"):
            reload(import_module(module))

    def one(content: bytes) -> None:
        # Most byte strings are not valid JSON, so each byte selects a token instead.
        tokens = "".join(_TOKENS[byte % len(_TOKENS)] for byte in content)
        for text in (content, "{" + tokens, '{"table": "t", "where": {' + tokens):
            for read in (condition.parse_condition, request.decode_request):
                with suppress(HeadraceError):
                    read(text)

    atheris.Setup(["fuzz", f"-max_total_time={SECONDS}", "-max_len=512"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if "predicates" in sys.argv:
        fuzz_predicates()
    else:
        fuzz_interface()
        subprocess.run([sys.executable, "-m", "tests.serve.fuzz", "predicates"], check=True)
