"""Identifies the code that computes a translated query: Headrace's own, and its packages.

A result is only as good as the code that computed it, so this code is part of its skip key. It is
identified by digests of source files, since a version says nothing about a working copy: those of
the kernels that the query calls, with every module they need, and those of the runner with the row
reader.
"""

import platform
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib import metadata, resources

from headrace.pipeline.translation.kernel import kernels_in, module_of, parse_kernel
from headrace.pipeline.translation.table_call import table_calls_in

QUERY, KERNELS, RUNNER, PACKAGES = "query", "kernels", "runner", "packages"
"""The parts: the translation, the kernels that it calls, the runner, and the runner's packages."""

_PROJECT = "headrace"
RUNNER_MODULES = (
    "headrace.pipeline.runners.datafusion.file",
    "headrace.pipeline.runners.datafusion.runner",
    "headrace.pipeline.runners.datafusion.table",
    "headrace.pipeline.functions.computation",
    "headrace.pipeline.analysis.group_function",
    "headrace.pipeline.analysis.planning_session",
    "headrace.pipeline.output.merge",
    "headrace.pipeline.translation.translated_session",
    "headrace.pipeline.translation.table_call",
)
"""The modules that run a query, besides its kernels."""
_READER = "headrace.rows"
"""A package whose modules all count."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))$", re.MULTILINE
)
_NAME = re.compile(r"[\w.]+")


def computation_of(sql: str) -> dict[str, str]:
    """Return everything that decides the result of a translated query over given rows, by part.

    Args:
        sql: DataFusion SQL, as the translation writes it.
    """
    modules = _closure(_kernel_modules(sql))
    parts = {QUERY: sha256(sql.encode()).hexdigest(), RUNNER: _digest(_runner_modules())}
    if modules:
        parts[KERNELS] = _digest(modules)
    return {**parts, PACKAGES: _packages((*modules, *_runner_modules()))}


def is_current(computation: Mapping[str, str], sql: str) -> bool:
    """Return whether the current code for a query is the recorded one."""
    return dict(computation) == computation_of(sql)


def imported_modules(source: str) -> frozenset[str]:
    """Return the names that a text imports; for `from a import b` also `a.b`, a possible module."""
    names: set[str] = set()
    for package, members, modules in _IMPORT.findall(source):
        if package:
            names |= {package, *(f"{package}.{name}" for name in _first_names(members))}
        else:
            names |= set(_first_names(modules))
    return frozenset(names)


def _first_names(members: str) -> list[str]:
    """Return the names in `(a, b as c)`, without their aliases."""
    plain = re.sub(r"#.*", "", members).strip("()\n\t ")
    matches = (_NAME.match(part.strip()) for part in plain.split(","))
    return [match.group() for match in matches if match is not None]


def _kernel_modules(sql: str) -> frozenset[str]:
    """Return the modules of the kernels that a query calls, also inside parameters."""
    modules: set[str] = set()
    texts = [sql, *(text for call in table_calls_in(sql) for text in call.arguments)]
    while texts:
        for name in kernels_in(texts.pop()):
            call = parse_kernel(name)
            modules.add(module_of(call.kernel))
            texts += call.parameters
    return frozenset(modules)


@cache
def _closure(modules: frozenset[str]) -> tuple[str, ...]:
    """Return modules with all modules of the project that they depend on."""
    closure: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in closure:
            continue
        closure.add(name)
        waiting += [
            module for module in imported_modules(_source(name)) if _is_project_module(module)
        ]
    return tuple(sorted(closure))


def _is_project_module(name: str) -> bool:
    return name.startswith(f"{_PROJECT}.") and name in sys.modules


@cache
def _runner_modules() -> tuple[str, ...]:
    folder = resources.files(_READER)
    names = (entry.name for entry in folder.iterdir() if entry.name.endswith(".py"))
    return (*RUNNER_MODULES, *sorted(f"{_READER}.{name.removesuffix('.py')}" for name in names))


@cache
def _digest(modules: tuple[str, ...]) -> str:
    digest = sha256()
    for name in modules:
        digest.update(f"{name} {_module_digest(name)}\n".encode())
    return digest.hexdigest()


@cache
def _module_digest(name: str) -> str:
    """Digest the text, and the data files next to it that the text names."""
    source = _source(name)
    digest = sha256(source.encode())
    folder = resources.files(name.rpartition(".")[0])
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not entry.name.endswith(".py") and f'"{entry.name}"' in source:
            digest.update(entry.read_bytes())
    return digest.hexdigest()


@cache
def _source(name: str) -> str:
    """Return the text of a module, or the project version if only compiled files are shipped."""
    folder, _, module = name.rpartition(".")
    for file in (f"{module}.py", f"{module}/__init__.py"):
        path = resources.files(folder).joinpath(file)
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return f"{_PROJECT} {metadata.version(_PROJECT)}"


@cache
def _packages(modules: Iterable[str]) -> str:
    """Return Python and the packages that modules use, with their versions."""
    names = {name.partition(".")[0] for m in modules for name in imported_modules(_source(m))}
    used = sorted(names - sys.stdlib_module_names - {_PROJECT})
    python = ".".join(platform.python_version_tuple()[:2])
    return ", ".join((f"python {python}", *(v for v in map(_version, used) if v)))


def _version(package: str) -> str | None:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:  # a docstring word that looks like an import
        return None
