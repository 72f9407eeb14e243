"""Follows a function through the source of its project.

Reaching a module includes every statement of it that does more on import than bind a name, and
every module that it imports; reaching a name includes the statements that bind it. What cannot be
followed is recorded, with the reason.
"""

import ast
import builtins
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import assert_never

from headrace.pipeline.functions.computed import find_computed
from headrace.pipeline.functions.distribution import every_installed
from headrace.pipeline.functions.folding import Folding
from headrace.pipeline.functions.loaded import is_current
from headrace.pipeline.functions.module import Imported, Module, Statement, Use
from headrace.pipeline.functions.opened import OpenedFiles, digest_file, is_opener
from headrace.pipeline.functions.outside import (
    DYNAMIC_ATTRIBUTES,
    ENVIRONMENT,
    FOREIGN_ATTRIBUTES,
    FOREIGN_TEXTS,
    IMPORTERS,
    LOCAL_ZONE,
    TEXTUAL_ATTRIBUTES,
    VALUES,
    Reach,
    chance_text,
    clock_method,
    clock_text,
    digest_local_zone,
    judge_name,
    uses_local_zone,
)
from headrace.pipeline.functions.resolution import (
    Compiled,
    Installed,
    Origin,
    Resolver,
    Unversioned,
    code_files,
    project_files,
)
from headrace.pipeline.functions.standard_library import is_known, is_standard
from headrace.pipeline.functions.syntax import Definition, digest_words
from headrace.pipeline.functions.unversioned import digest_code, outside_imports

VARIABLE = "environment variable "
"""How the labels of environment variables start."""
EVERY_PACKAGE = "every installed package"
ON_IMPORT, ORDER, ALL = "(on import)", "(order)", "(all)"
_MODULE_NAMES = frozenset(
    {"__name__", "__file__", "__path__", "__package__", "__annotations__", "__debug__"}
)


class Follower:
    """Collects everything that one function depends on."""

    def __init__(
        self, resolver: Resolver, *, runs_imports: bool = True, follows_all: bool = False
    ) -> None:
        """Start with nothing.

        Args:
            resolver: Finds the modules.
            runs_imports: Whether to include what modules do on import.
            follows_all: Whether all of the project's Python is being followed.
        """
        self._follows_all = follows_all
        self._resolver, self._runs_imports = resolver, runs_imports
        self._opened = OpenedFiles(resolver)
        self._waiting: deque[tuple[Module, Use, str]] = deque()
        """Names to reach: the module, what is used of it, and where."""
        self._seen: set[tuple[Module, Use]] = set()
        self._ran: set[Module] = set()
        self._used: dict[Statement, tuple[Module, str]] = {}
        """The statements that count: the module of each, and where it is."""
        self._names: dict[Module, set[str]] = {}
        self._inputs_by_label: dict[str, list[Path]] = {}
        self._where = ""
        self._is_textual = False
        self.helpers: dict[str, str] = {}
        self.packages: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self.widened: set[str] = set()
        self.dynamic: set[str] = set()
        """Why all of the project's Python counts, if it does."""
        self.unproven: set[str] = set()
        """What it depends on that nothing proves to be unchanged."""

    def follow(self, module: Module, names: Iterable[str]) -> None:
        """Follow names of a module as far as they lead."""
        self._run(module)
        self._waiting.extend((module, Use(name), "") for name in names)
        while self._waiting:
            reached, use, where = self._waiting.popleft()
            if (reached, use) not in self._seen:
                self._seen.add((reached, use))
                self._reach(reached, use, where)
        for reached in self._ran | self._names.keys():
            self._digest(reached)
        self._judge_together()
        if self.dynamic and not self._follows_all:
            self._take_all()
            self._judge_all()

    def label(self, file: Path) -> str:
        """Return the name of a file, the same on every machine."""
        return self._resolver.inside(file).as_posix()

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

    def take_files(self) -> None:
        """Include every file of the project."""
        digest = sha256()
        for file in project_files(self._resolver.root):
            digest.update(f"{self.label(file)} {digest_file(file)}\n".encode())
        self.inputs["every file of the project"] = digest.hexdigest()

    def _run(self, module: Module) -> None:
        """Include what importing a module does."""
        if module in self._ran or not self._runs_imports:
            return
        self._ran.add(module)
        self._check_loaded(module)
        for parent in _parents(module.name):
            self._enter(parent)
        for effect in module.effects:
            self._use(module, effect, f"{self.label(module.file)} on import")
        for written in module.modules_run:
            self._import(module, written)

    def _check_loaded(self, module: Module) -> None:
        if not self._resolver.is_in_project(module.name) and not is_current(
            module.name, module.file
        ):
            label = self.label(module.file)
            self.unproven.add(f"{label} was changed after it was imported: start a new process")

    def _import(self, importer: Module, written: str) -> None:
        """Include what importing a module does, unless a version identifies the module."""
        name = self._resolver.absolute(importer, written)
        if name is not None and name:
            for part in (*_parents(name), name):
                if self._resolver.is_followed(part):
                    self._enter(part)
            if isinstance(origin := self._resolver.find(name), Unversioned):
                self._record(origin)

    def _enter(self, name: str) -> Origin | None:
        for parent in _parents(name):
            if isinstance(module := self._resolver.find(parent), Module):
                self._run(module)
        origin = self._resolver.find(name)
        if isinstance(origin, Module):
            self._run(origin)
            if shadowed := self._resolver.shadows(name):
                self._record(shadowed)
        elif origin is not None:
            self._record(origin)
        return origin

    def _record(self, origin: Compiled | Installed | Unversioned) -> None:
        """Include a module without following it: by its version or its bytes."""
        match origin:
            case Installed(package=package, version=version):
                self.packages[package] = version
            case Compiled(file=file):
                self.helpers[f"{self.label(file)}:{ALL}"] = digest_file(file)
            case Unversioned(module=module):
                label = f"{module}:{ALL}"
                if not origin.files:
                    self.unproven.add(f"{self._where} imports {module}, which has no file")
                if label not in self.helpers:
                    self.helpers[label] = digest_code(origin.files)
                    for imported in outside_imports(origin):
                        self._record(imported)
            case _:
                assert_never(origin)

    def _enqueue(self, module: Module, use: Use) -> None:
        self._waiting.append((module, use, self._where))

    def _reach(self, module: Module, use: Use, where: str) -> None:
        """Include the statements that bind a name; `where` is where it is used."""
        self._run(module)
        statements = module.bindings.get(use.name, [])
        if statements:
            self._names.setdefault(module, set()).add(use.name)
        for statement in statements:
            if not isinstance(statement.node, ast.Import | ast.ImportFrom):
                self._use(module, statement, f"{self.label(module.file)}:{use.name}")
            if not isinstance(statement.node, Definition):
                self._where = where
                for imported in statement.imports.get(use.name, []):
                    self._follow_import(module, imported, use)
        self._where = where
        for writer in module.writers(use.name):
            self._enqueue(module, Use(writer))
        for star in module.stars:
            self._where = where
            self._reach_star(module, star, use)

    def _reach_star(self, module: Module, star: str, use: Use) -> None:
        target = self._resolver.absolute(module, star)
        origin = None if target is None else self._enter(target)
        if isinstance(origin, Module):
            self._enqueue(origin, use)
            self._enqueue(origin, Use("__all__"))
        elif isinstance(origin, Installed) and use.name not in module.bindings:
            self._judge(".".join((str(target), use.name, *use.attributes)), use.literal)

    def _use(self, module: Module, statement: Statement, where: str) -> None:
        """Follow everything that a statement mentions."""
        if statement in self._used:
            return
        self._used[statement] = module, where
        self._where = where
        for use in sorted(statement.uses, key=str):
            self._where = where
            self._follow_use(module, statement, use)
        self._where = where
        for written in statement.modules_run:
            self._import(module, written)
        for node in statement.nodes():
            self._judge_syntax(module, statement, node)
        for file in self._opened.files(module, statement):
            self.inputs[f"file {self._input_label(file)}"] = digest_file(file)
        for description in self._opened.unknown(module, statement):
            self.unproven.add(f"{where} reads {description}")

    def _judge_syntax(self, module: Module, statement: Statement, node: ast.AST) -> None:
        """Record what an attribute or a call of any object may imply."""
        if isinstance(node, ast.Attribute):
            self._judge_attribute(node.attr)
        elif isinstance(node, ast.Constant | ast.BinOp):
            text = Folding(self._resolver, module, statement).fold(node)
            if text in FOREIGN_TEXTS:
                self._add_foreign("any name of Python", repr(text))
        elif isinstance(node, ast.Call):
            self._judge_computed(module, statement, node)
        elif isinstance(node, ast.Assert) and not __debug__:
            self.inputs["assertions are not checked"] = "true"
        if uses_local_zone(node):
            self.inputs[LOCAL_ZONE] = digest_local_zone()
        elif method := clock_method(node, statement.methods):
            folding = Folding(self._resolver, module, statement)
            is_function = isinstance(method, ast.Attribute) and folding.is_function_of_module(
                method
            )
            if not is_function:
                self.unproven.add(f"{self._where} depends on the clock ({ast.unparse(method)})")

    def _judge_attribute(self, name: str) -> None:
        if name in DYNAMIC_ATTRIBUTES:
            self._widen(name)
        if name in TEXTUAL_ATTRIBUTES:
            self._widen(name, is_textual=True)
        if name in FOREIGN_ATTRIBUTES:
            self._add_foreign(FOREIGN_ATTRIBUTES[name], name)

    def _judge_computed(self, module: Module, statement: Statement, call: ast.Call) -> None:
        """Follow code in a text that is written out; record what is computed instead."""
        computed = find_computed(call, Folding(self._resolver, module, statement), self._resolver)
        if computed is None:
            return
        if computed.module is not None and not computed.module.startswith("."):
            self._walk(computed.module, (), None)
            return
        evaluated = None if computed.code is None else computed.code_in(module)
        if evaluated is None:
            self._add_foreign(computed.thing, ast.unparse(call.func))
            return
        for inner in evaluated.statements:
            self._use(module, inner, self._where)

    def _add_foreign(self, thing: str, name: str) -> None:
        self.unproven.add(f"{self._where} depends on {thing} ({name})")

    def _follow_use(self, module: Module, statement: Statement, use: Use) -> None:
        imports = statement.imports.get(use.name, [])
        for imported in imports:
            self._follow_import(module, imported, use)
        self._enqueue(module, use)
        if imports or use.name in module.bindings or use.name in _MODULE_NAMES:
            return
        if use.name in FOREIGN_ATTRIBUTES:
            self._add_foreign(FOREIGN_ATTRIBUTES[use.name], use.name)
        elif hasattr(builtins, use.name):
            self._judge(use.name, use.literal)
        elif use.name in statement.free_names and not self._is_starred(module, use.name):
            self._widen(f"the name {use.name}, which no statement binds")

    def _is_starred(self, module: Module, name: str, seen: frozenset[Module] = frozenset()) -> bool:
        """Return whether a star import may bind a name."""
        for star in module.stars:
            target = self._resolver.absolute(module, star)
            origin = None if target is None else self._resolver.find(target)
            if not isinstance(origin, Module):
                return True
            inner = seen | {module}
            if name in origin.bindings or (
                origin not in inner and self._is_starred(origin, name, inner)
            ):
                return True
        return False

    def _follow_import(self, importer: Module, imported: Imported, use: Use) -> None:
        name = self._resolver.absolute(importer, imported.module)
        members = () if imported.member is None else (imported.member,)
        if name is not None and imported.member != "*":
            self._walk(name, (*members, *use.attributes), use.literal)

    def _walk(self, name: str, chain: tuple[str, ...], literal: str | None) -> None:
        """Follow `module.attribute.attribute` from module to module."""
        where = self._where
        while True:
            origin = self._enter(name) if name else None
            self._where = where
            match origin:
                case Installed():
                    self._judge(".".join((name, *chain)), literal)
                    return
                case Compiled() | Unversioned():
                    return
                case None if not chain:
                    self._widen(f"the namespace {name} as a value")
                    return
                case Module() if not chain:
                    self._take_module(origin)
                    return
            below = f"{name}.{chain[0]}" if name else chain[0]
            is_module = self._resolver.is_followed(below)
            if isinstance(origin, Module):
                if chain[0] in origin.bindings or self._is_starred(origin, chain[0]):
                    self._enqueue(origin, Use(chain[0], chain[1:], literal))
                elif not is_module:
                    self._take_module(origin)
            if not is_module:
                return
            name, chain = below, chain[1:]

    def _take_module(self, module: Module) -> None:
        label = self.label(module.file)
        self.widened.add(f"all of {label}, which {self._where} uses as a value")
        for name in (*module.bindings, *self._star_names(module)):
            self._enqueue(module, Use(name))

    def _star_names(self, module: Module, seen: frozenset[Module] = frozenset()) -> Iterator[str]:
        for star in module.stars:
            target = self._resolver.absolute(module, star)
            origin = None if target is None else self._resolver.find(target)
            if isinstance(origin, Module) and origin not in seen:
                yield from origin.bindings
                yield from self._star_names(origin, seen | {origin})

    def _judge(self, dotted: str, literal: str | None) -> None:
        """Record what the use of a name of Python or of a package implies."""
        if dotted in ENVIRONMENT and literal is not None:
            value = os.environ.get(literal)
            digest = "not set" if value is None else sha256(os.fsencode(value)).hexdigest()
            self.inputs[f"{VARIABLE}{literal}"] = digest
            return
        for fact, value in VALUES.items():
            if f"{dotted}.".startswith(f"{fact}."):
                self.inputs[fact] = value
                return
        if dotted in IMPORTERS:
            if literal is not None and not literal.startswith("."):
                self._walk(literal, (), None)
            else:
                self._widen(dotted)
                self.packages[EVERY_PACKAGE] = every_installed()
            return
        match judge_name(dotted, literal=literal):
            case Reach.DYNAMIC, name:
                self._widen(name)
            case Reach.TEXTUAL, name:
                self._widen(name, is_textual=True)
            case Reach.FOREIGN, thing:
                self._add_foreign(thing, dotted)
            case None if is_standard(dotted) and not is_known(dotted) and not is_opener(dotted):
                self._add_foreign("more than its arguments, as far as is known", dotted)

    def _judge_together(self) -> None:
        """Record what only follows from several statements together."""
        packages = {
            written.partition(".")[0]
            for module in {*self._ran, *(module for module, _ in self._used.values())}
            for statement in module.statements
            for written in statement.modules_run
        }
        assigned = {name for statement in self._used for name in statement.assigned_attributes}
        for statement, (module, where) in list(self._used.items()):
            self._where = where
            names = self._opened.names_of(statement)
            if names and (self.dynamic or "*" in assigned or not names.isdisjoint(assigned)):
                changed = ", ".join(sorted(names & assigned or names))
                self.unproven.add(f"{where} reads a file whose path may be assigned ({changed})")
            for node in statement.nodes():
                if text := clock_text(node, packages):
                    self._add_foreign("the clock", repr(text))
                if text := chance_text(node, packages):
                    self._add_foreign("chance", text)
            if "configparser" in packages and self._opened.reads_any(module, statement):
                self.unproven.add(f"{where} reads a file whose path is computed")

    def _judge_all(self) -> None:
        """Include what the project's Python depends on besides itself, as any of it may run."""
        everything = Follower(self._resolver, runs_imports=self._runs_imports, follows_all=True)
        for file in code_files(self._resolver.root):
            if file.suffix == ".py":
                with suppress(SyntaxError, ValueError):
                    module = self._resolver.module(file)
                    everything.follow(module, _defined(module))
        self.packages |= everything.packages
        self.inputs |= everything.inputs
        self.unproven |= everything.unproven

    def _widen(self, reason: str, *, is_textual: bool = False) -> None:
        self.dynamic.add(f"{self._where} uses {reason}")
        self._is_textual |= is_textual

    def _digest(self, module: Module) -> None:
        """Add the hashes of the included statements of a module."""
        label, names = self.label(module.file), self._names.get(module, set())
        effects = module.effects if module in self._ran else []
        if effects:
            self.helpers[f"{label}:{ON_IMPORT}"] = digest_words(e.digest for e in effects)
        for name in names:
            digests = [statement.digest_of(name) for statement in module.bindings[name]]
            self.helpers[f"{label}:{name}"] = digest_words(digests)
        order = _order(module, names, effects)
        if len(order) > 1:
            self.helpers[f"{label}:{ORDER}"] = digest_words(order)

    def _take_all(self) -> None:
        """Include all of the project's Python, and of the packages without a version it reaches."""
        for module in [*self._ran, *self._names]:
            if not self._resolver.is_in_project(module.name) and module.name:
                self._record(self._resolver.outside(module.name))
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
                        self._record(self._resolver.outside(name))


def _defined(module: Module) -> list[str]:
    """Return the names that a module binds otherwise than by importing them."""
    return [
        name
        for name, statements in module.bindings.items()
        if not all(isinstance(s.node, ast.Import | ast.ImportFrom) for s in statements)
    ]


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


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]
