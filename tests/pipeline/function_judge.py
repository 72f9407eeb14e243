"""Compute the function `points` of many projects, each in a separate process.

As a script, it reads a project as JSON from each line of its input, and writes the result of the
function and the parts of its fingerprint. Processes are forked, so that packages are imported only
once. `Judge` is a handle on it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from headrace.pipeline.functions.computation import compute_table, reduce_rows
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.project.folder import read_functions


class Judgement(msgspec.Struct, frozen=True):
    """The result of a project's function for some rows, and the parts of its fingerprint."""

    result: list[int | None] | None = None
    part: FunctionPart | None = None
    error: str | None = None


class Judge:
    """A process that computes functions and writes no bytecode."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-m", "tests.pipeline.function_judge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def judge(
        self, root: Path, *, outside: Path, environment: Mapping[str, str] | None = None
    ) -> Judgement:
        """Load a project and compute its function."""
        project = {
            "root": str(root),
            "outside": str(outside),
            "environment": dict(environment or {}),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(project), file=self._process.stdin, flush=True)
        return msgspec.json.decode(self._process.stdout.readline(), type=Judgement)


def given_by(function: Function) -> list[int | None]:
    """Return the result of a function for three rows, or for the value 3."""
    rows = pa.array([1, 2, 3])
    match function.kind:
        case FunctionKind.SCALAR:
            return list(function(rows).to_pylist())
        case FunctionKind.AGGREGATE | FunctionKind.WINDOW:
            return [reduce_rows(function, [rows]).as_py()]
        case FunctionKind.TABLE:
            return list(compute_table(function, [3])["n"].to_pylist())


def compute(project: dict[str, Any]) -> Judgement:
    os.environ.update(project["environment"])
    sys.path.append(project["outside"])
    try:
        catalog = read_functions(Path(project["root"]))
        result = given_by(catalog["points"])
    except BaseException as error:  # noqa: BLE001  (the test shows it)
        return Judgement(error=f"{type(error).__name__}: {error}")
    return Judgement(result, catalog.part("points"))


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            answer = msgspec.json.encode(compute(json.loads(line)))
            with os.fdopen(1, "wb") as output:
                output.write(answer + b"\n")
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
