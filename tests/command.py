"""Run `headrace` in a separate process that need not import anything first.

Importing what a command of a pipeline needs takes longer than the command. So one process imports
it once, and forks a child for each command: the command has its own process, standard output,
standard error and exit status, as if a user had run it. How a command starts, and what it imports,
is tested with processes that are not forked.

As a script, this is that process: it reads one command as JSON from each line of its input.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

_PRELOADED = (
    "headrace.cli.app",
    "headrace.pipeline",
    "headrace.pipeline.page.project_page",
    "headrace.table",
    "datafusion",
    "deltalake",
    "pandas",
    "pyarrow.parquet",
)


def headrace(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `headrace` with these words, in the current folder and environment."""
    with tempfile.TemporaryDirectory() as folder:
        streams = {name: str(Path(folder) / name) for name in ("stdout", "stderr")}
        order = {
            "words": words,
            "cwd": str(Path.cwd()),
            "environment": os.environ | variables,
            **streams,
        }
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(order), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        stdout, stderr = (Path(file).read_text(encoding="utf-8") for file in streams.values())
    return subprocess.CompletedProcess(words, status, stdout, stderr)


@cache
def _server() -> "subprocess.Popen[str]":
    """Return the process that forks; it ends when its input does, with this process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.command"],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _run(order: dict[str, Any]) -> None:
    """Run one command in this process, which is a new child."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, order["stdout"], os.O_WRONLY | os.O_CREAT),
        (2, order["stderr"], os.O_WRONLY | os.O_CREAT),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = ["headrace", *order["words"]]
    sys.modules["__main__"].__package__ = ""  # so that the usage names the command

    from headrace.cli.main import run  # noqa: PLC0415  (imported by the parent process)

    run()


def main() -> None:
    # As the entry point does, which is called in the children: see `headrace.cli.main.run`.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    for module in _PRELOADED:
        __import__(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
