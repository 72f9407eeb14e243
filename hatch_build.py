"""Compiles the few loops that are written in C, wherever the package is built or installed.

They need a C compiler and nothing else, not even Python's headers: where the machine has none,
one comes from PyPI for the time of the build. Where they cannot be compiled, or with
HEADRACE_COMPILED=0 in the environment, the package is built without them, and is slower.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCES = Path("src/headrace/compiled")
LIBRARY = SOURCES / "kernels.so"
OPTIONS = ("-std=c11", "-O3", "-fPIC", "-shared", "-fno-sanitize=undefined")


class KernelsHook(BuildHookInterface[Any]):
    """Puts the compiled library beside the module that loads it."""

    def dependencies(self) -> list[str]:
        """A compiler, if there is none."""
        return [] if _compiler() or not _wanted() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; `version` is how the package is built, which does not matter here."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        (root / LIBRARY).unlink(missing_ok=True)  # rather none than an old one
        if not _wanted():
            return
        compiler = _compiler() or (sys.executable, "-m", "ziglang", "cc")
        sources = sorted(str(path) for path in (root / SOURCES).glob("*.c"))
        command = (*compiler, *OPTIONS, "-o", str(root / LIBRARY), *sources)
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            self.app.display_warning(f"built without compiled loops: {done.stderr.strip()}")
            return
        build_data["artifacts"].append(LIBRARY.as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(platform_tags())}"


def _wanted() -> bool:
    return os.environ.get("HEADRACE_COMPILED") != "0"


def _compiler() -> tuple[str, ...] | None:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return None if compiler is None else (compiler,)
