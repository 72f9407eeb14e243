"""Collects what a function depends on, as labels with hashes, and what cannot be hashed.

What `Follower` reaches enters: statements, modules, files and names of Python. The parts of a
fingerprint leave.
"""

import ast
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import assert_never

from headrace.pipeline.functions.module import Module, Statement
from headrace.pipeline.functions.opened import digest_file
from headrace.pipeline.functions.resolution import (
    Compiled,
    Installed,
    Resolver,
    Unversioned,
    code_files,
    project_files,
)
from headrace.pipeline.functions.syntax import digest_words
from headrace.pipeline.functions.unversioned import digest_code, outside_imports

VARIABLE = "environment variable "
"""How the labels of environment variables start."""
EVERY_PACKAGE = "every installed package"
ON_IMPORT, ORDER, ALL = "(on import)", "(order)", "(all)"


class Dependencies:
    """What one function depends on, by kind."""

    def __init__(self, resolver: Resolver) -> None:
        """Start with nothing."""
        self._resolver = resolver
        self._inputs_by_label: dict[str, list[Path]] = {}
        self._is_textual = False
        self.where = ""
        """The code that is being followed, as the reasons name it."""
        self.helpers: dict[str, str] = {}
        """The hashes of code, by module and name."""
        self.packages: dict[str, str] = {}
        """The versions of packages."""
        self.inputs: dict[str, str] = {}
        """The hashes of files, environment variables and facts about the process."""
        self.widened: set[str] = set()
        """What counts as a whole, and why."""
        self.dynamic: set[str] = set()
        """Why all of the project's Python counts, if it does."""
        self.unproven: set[str] = set()
        """What it depends on that nothing proves to be unchanged."""

    def label(self, file: Path) -> str:
        """Return the name of a file, the same on every machine."""
        return self._resolver.inside(file).as_posix()

    def add_origin(self, origin: Compiled | Installed | Unversioned) -> None:
        """Include a module without following it: by its version or its bytes."""
        match origin:
            case Installed(package=package, version=version):
                self.packages[package] = version
            case Compiled(file=file):
                self.helpers[f"{self.label(file)}:{ALL}"] = digest_file(file)
            case Unversioned(module=module):
                label = f"{module}:{ALL}"
                if not origin.files:
                    self.unproven.add(f"{self.where} imports {module}, which has no file")
                if label not in self.helpers:
                    self.helpers[label] = digest_code(origin.files)
                    for imported in outside_imports(origin):
                        self.add_origin(imported)
            case _:
                assert_never(origin)

    def add_statements(self, module: Module, names: set[str], effects: list[Statement]) -> None:
        """Include the statements that bind names of a module, and those with effects on import."""
        label = self.label(module.file)
        if effects:
            self.helpers[f"{label}:{ON_IMPORT}"] = digest_words(e.digest for e in effects)
        for name in names:
            digests = [statement.digest_of(name) for statement in module.bindings[name]]
            self.helpers[f"{label}:{name}"] = digest_words(digests)
        order = _order(module, names, effects)
        if len(order) > 1:
            self.helpers[f"{label}:{ORDER}"] = digest_words(order)

    def add_project_code(self, reached: Iterable[Module]) -> None:
        """Include all of the project's Python, and of the packages without a version it reaches."""
        for module in reached:
            if not self._resolver.is_in_project(module.name) and module.name:
                self.add_origin(self._resolver.outside(module.name))
        for file in code_files(self._resolver.root):
            label = f"{self.label(file)}:{ALL}"
            self.helpers[label] = digest_file(file)
            if file.suffix != ".py":
                continue
            try:
                module = self._resolver.module(file)
            except (SyntaxError, ValueError):
                continue
            if not self._is_textual:
                self.helpers[label] = module.digest
            for statement in module.statements:
                for written in statement.modules_run:
                    name = self._resolver.absolute(module, written)
                    if name and not self._resolver.is_in_project(name):
                        self.add_origin(self._resolver.outside(name))

    def add_project_files(self) -> None:
        """Include every file of the project."""
        digest = sha256()
        for file in project_files(self._resolver.root):
            digest.update(f"{self.label(file)} {digest_file(file)}\n".encode())
        self.inputs["every file of the project"] = digest.hexdigest()

    def add_outside(self, other: "Dependencies") -> None:
        """Include what other code depends on besides the project's Python."""
        self.packages |= other.packages
        self.inputs |= other.inputs
        self.unproven |= other.unproven

    def add_file(self, file: Path) -> None:
        """Include the content of a file that code opens."""
        self.inputs[f"file {self._input_label(file)}"] = digest_file(file)

    def add_variable(self, name: str) -> None:
        """Include the value of an environment variable."""
        value = os.environ.get(name)
        digest = "not set" if value is None else sha256(os.fsencode(value)).hexdigest()
        self.inputs[f"{VARIABLE}{name}"] = digest

    def add_foreign(self, thing: str, name: str) -> None:
        """Record something outside the project that may change, and the name that reaches it."""
        self.unproven.add(f"{self.where} depends on {thing} ({name})")

    def widen(self, reason: str, *, is_textual: bool = False) -> None:
        """Let all of the project's Python count, and also its layout if `is_textual`."""
        self.dynamic.add(f"{self.where} uses {reason}")
        self._is_textual |= is_textual

    def _input_label(self, file: Path) -> str:
        """Return the name of a file that code opens; a second file of that name is numbered.

        Files outside the project are known by their names alone.
        """
        label = self.label(file)
        namesakes = self._inputs_by_label.setdefault(label, [])
        resolved = file.resolve()
        if resolved not in namesakes:
            namesakes.append(resolved)
        number = namesakes.index(resolved) + 1
        return label if number == 1 else f"{label} ({number})"


def _order(module: Module, names: set[str], effects: list[Statement]) -> list[str]:
    """Return the statements of a module whose order may matter.

    The order of definitions and constants does not, unless a name is bound twice or a statement may
    notice that a name is not bound yet.
    """
    twice = {name for name in names if len(module.bindings[name]) > 1}
    counted = [s for s in module.statements if s in effects or s.names & names]
    if not effects and not any(isinstance(s.node, ast.If | ast.Try) for s in counted):
        counted = [s for s in counted if not s.is_settled or s.names & twice]
    if all(s.is_settled and not s.names & twice for s in counted):
        return []
    return [" ".join(sorted(s.names & names)) or ON_IMPORT for s in counted]
