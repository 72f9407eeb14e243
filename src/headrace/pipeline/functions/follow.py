"""Follows a function through the source of its project.

Reaching a module includes every statement of it that does more on import than bind a name, and
every module that it imports; reaching a name includes the statements that bind it. What cannot be
followed is recorded, with the reason. Names in a module enter; their `Dependencies` leave.
"""

import ast
import builtins
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress

from headrace.pipeline.functions.called_import import ModuleSource
from headrace.pipeline.functions.computed import find_computed
from headrace.pipeline.functions.dependencies import EVERY_PACKAGE, Dependencies
from headrace.pipeline.functions.distribution import every_installed
from headrace.pipeline.functions.folding import Folding
from headrace.pipeline.functions.loaded import is_current
from headrace.pipeline.functions.module import Imported, Module, Statement, Use
from headrace.pipeline.functions.opened import OpenedFiles, is_opener
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
)
from headrace.pipeline.functions.standard_library import is_known, is_standard
from headrace.pipeline.functions.syntax import Definition

_ANY_NAME = "__getattr__"
"""The function of a module that Python calls for a name that no statement has bound."""
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
        self.dependencies = Dependencies(resolver)

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
            effects = reached.effects if reached in self._ran else []
            self.dependencies.add_statements(reached, self._names.get(reached, set()), effects)
        self._judge_together()
        if self.dependencies.dynamic and not self._follows_all:
            self.dependencies.add_project_code([*self._ran, *self._names])
            self._judge_all()

    def sources_for_calls(self) -> dict[str, ModuleSource]:
        """Return the project's modules that it may import when it is called."""
        is_own = self._resolver.is_in_project
        modules = [module for module in [*self._ran, *self._names] if is_own(module.name)]
        called = {
            None if written is None else self._resolver.absolute(module, written)
            for module in modules
            for written in module.modules_called
        }
        if None in called:
            modules = [*self._parsed_files()]
        elif not any(name is not None and is_own(name) for name in called):
            return {}
        return {m.name: ModuleSource(str(m.file), m.text) for m in modules}

    def _run(self, module: Module) -> None:
        """Include what importing a module does."""
        if module in self._ran or not self._runs_imports:
            return
        self._ran.add(module)
        self._check_loaded(module)
        for parent in _parents(module.name):
            self._enter(parent)
        for effect in module.effects:
            self._use(module, effect, f"{self.dependencies.label(module.file)} on import")
        for written in module.modules_run:
            self._import(module, written)

    def _check_loaded(self, module: Module) -> None:
        if not self._resolver.is_in_project(module.name) and not is_current(
            module.name, module.file
        ):
            label = self.dependencies.label(module.file)
            self.dependencies.unproven.add(
                f"{label} was changed after it was imported: start a new process"
            )

    def _import(self, importer: Module, written: str) -> None:
        """Include what importing a module does, unless a version identifies the module."""
        name = self._resolver.absolute(importer, written)
        if name is not None and name:
            for part in (*_parents(name), name):
                if self._resolver.is_followed(part):
                    self._enter(part)
            if isinstance(origin := self._resolver.find(name), Unversioned):
                self.dependencies.add_origin(origin)

    def _enter(self, name: str) -> Origin | None:
        for parent in _parents(name):
            if isinstance(module := self._resolver.find(parent), Module):
                self._run(module)
        origin = self._resolver.find(name)
        if isinstance(origin, Module):
            self._run(origin)
            if shadowed := self._resolver.shadows(name):
                self.dependencies.add_origin(shadowed)
        elif origin is not None:
            self.dependencies.add_origin(origin)
        return origin

    def _enqueue(self, module: Module, use: Use) -> None:
        self._waiting.append((module, use, self.dependencies.where))

    def _reach(self, module: Module, use: Use, where: str) -> None:
        """Include the statements that bind a name; `where` is where it is used."""
        self._run(module)
        statements = module.bindings.get(use.name, [])
        if statements:
            self._names.setdefault(module, set()).add(use.name)
        for statement in statements:
            if not isinstance(statement.node, ast.Import | ast.ImportFrom):
                self._use(module, statement, f"{self.dependencies.label(module.file)}:{use.name}")
            if not isinstance(statement.node, Definition):
                self.dependencies.where = where
                for imported in statement.imports.get(use.name, []):
                    self._follow_import(module, imported, use)
        self.dependencies.where = where
        for writer in module.writers(use.name):
            self._enqueue(module, Use(writer))
        for star in module.stars:
            self.dependencies.where = where
            self._reach_star(module, star, use)

    def _reach_star(self, module: Module, star: str, use: Use) -> None:
        target = self._resolver.absolute(module, star)
        origin = None if target is None else self._enter(target)
        if isinstance(origin, Module):
            self._enqueue(origin, use)
            self._enqueue(origin, Use("__all__"))
            self._enqueue(origin, Use(_ANY_NAME))
        elif isinstance(origin, Installed) and use.name not in module.bindings:
            self._judge(".".join((str(target), use.name, *use.attributes)), use.literal)

    def _use(self, module: Module, statement: Statement, where: str) -> None:
        """Follow everything that a statement mentions."""
        if statement in self._used:
            return
        self._used[statement] = module, where
        self.dependencies.where = where
        for use in sorted(statement.uses, key=str):
            self.dependencies.where = where
            self._follow_use(module, statement, use)
        self.dependencies.where = where
        for written in statement.modules_run:
            self._import(module, written)
        for node in statement.nodes():
            self._judge_syntax(module, statement, node)
        for file in self._opened.files(module, statement):
            self.dependencies.add_file(file)
        for description in self._opened.unknown(module, statement):
            self.dependencies.unproven.add(f"{where} reads {description}")

    def _judge_syntax(self, module: Module, statement: Statement, node: ast.AST) -> None:
        """Record what an attribute or a call of any object may imply."""
        if isinstance(node, ast.Attribute):
            self._judge_attribute(node.attr)
        elif isinstance(node, ast.Constant | ast.BinOp):
            text = Folding(self._resolver, module, statement).fold(node)
            if text in FOREIGN_TEXTS:
                self.dependencies.add_foreign("any name of Python", repr(text))
        elif isinstance(node, ast.Call):
            self._judge_computed(module, statement, node)
        elif isinstance(node, ast.Assert) and not __debug__:
            self.dependencies.inputs["assertions are not checked"] = "true"
        if uses_local_zone(node):
            self.dependencies.inputs[LOCAL_ZONE] = digest_local_zone()
        elif method := clock_method(node, statement.methods):
            folding = Folding(self._resolver, module, statement)
            is_function = isinstance(method, ast.Attribute) and folding.is_function_of_module(
                method
            )
            if not is_function:
                self.dependencies.unproven.add(
                    f"{self.dependencies.where} depends on the clock ({ast.unparse(method)})"
                )

    def _judge_attribute(self, name: str) -> None:
        if name in DYNAMIC_ATTRIBUTES:
            self.dependencies.widen(name)
        if name in TEXTUAL_ATTRIBUTES:
            self.dependencies.widen(name, is_textual=True)
        if name in FOREIGN_ATTRIBUTES:
            self.dependencies.add_foreign(FOREIGN_ATTRIBUTES[name], name)

    def _judge_computed(self, module: Module, statement: Statement, call: ast.Call) -> None:
        """Follow code that is evaluated from a constant text; record any other computed code."""
        computed = find_computed(call, Folding(self._resolver, module, statement), self._resolver)
        if computed is None:
            return
        if computed.module is not None and not computed.module.startswith("."):
            self._walk(computed.module, (), None)
            return
        evaluated = None if computed.code is None else computed.code_in(module)
        if evaluated is None:
            self.dependencies.add_foreign(computed.thing, ast.unparse(call.func))
            return
        for inner in evaluated.statements:
            self._use(module, inner, self.dependencies.where)

    def _follow_use(self, module: Module, statement: Statement, use: Use) -> None:
        imports = statement.imports.get(use.name, [])
        for imported in imports:
            self._follow_import(module, imported, use)
        self._enqueue(module, use)
        if imports or use.name in module.bindings or use.name in _MODULE_NAMES:
            return
        if use.name in FOREIGN_ATTRIBUTES:
            self.dependencies.add_foreign(FOREIGN_ATTRIBUTES[use.name], use.name)
        elif hasattr(builtins, use.name):
            self._judge(use.name, use.literal)
        elif use.name in statement.free_names and not self._is_starred(module, use.name):
            self.dependencies.widen(f"the name {use.name}, which no statement binds")

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
        where = self.dependencies.where
        while True:
            origin = self._enter(name) if name else None
            self.dependencies.where = where
            match origin:
                case Installed():
                    self._judge(".".join((name, *chain)), literal)
                    return
                case Compiled() | Unversioned():
                    return
                case None if not chain:
                    self.dependencies.widen(f"the namespace {name} as a value")
                    return
                case Module() if not chain:
                    self._take_module(origin)
                    return
            below = f"{name}.{chain[0]}" if name else chain[0]
            is_module = self._resolver.is_followed(below)
            if isinstance(origin, Module):
                if chain[0] in origin.bindings or self._is_starred(origin, chain[0]):
                    self._enqueue(origin, Use(chain[0], chain[1:], literal))
                    self._enqueue(origin, Use(_ANY_NAME))
                elif not is_module:
                    self._take_module(origin)
            if not is_module:
                return
            name, chain = below, chain[1:]

    def _take_module(self, module: Module) -> None:
        label = self.dependencies.label(module.file)
        self.dependencies.widened.add(
            f"all of {label}, which {self.dependencies.where} uses as a value"
        )
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
            self.dependencies.add_variable(literal)
            return
        for fact, value in VALUES.items():
            if f"{dotted}.".startswith(f"{fact}."):
                self.dependencies.inputs[fact] = value
                return
        if dotted in IMPORTERS:
            if literal is not None and not literal.startswith("."):
                self._walk(literal, (), None)
            else:
                self.dependencies.widen(dotted)
                self.dependencies.packages[EVERY_PACKAGE] = every_installed()
            return
        match judge_name(dotted, literal=literal):
            case Reach.DYNAMIC, name:
                self.dependencies.widen(name)
            case Reach.TEXTUAL, name:
                self.dependencies.widen(name, is_textual=True)
            case Reach.FOREIGN, thing:
                self.dependencies.add_foreign(thing, dotted)
            case None if is_standard(dotted) and not is_known(dotted) and not is_opener(dotted):
                self.dependencies.add_foreign("more than its arguments, as far as is known", dotted)

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
            self.dependencies.where = where
            names = self._opened.names_of(statement)
            if names and (
                self.dependencies.dynamic or "*" in assigned or not names.isdisjoint(assigned)
            ):
                changed = ", ".join(sorted(names & assigned or names))
                self.dependencies.unproven.add(
                    f"{where} reads a file whose path may be assigned ({changed})"
                )
            for node in statement.nodes():
                if text := clock_text(node, packages):
                    self.dependencies.add_foreign("the clock", repr(text))
                if text := chance_text(node, packages):
                    self.dependencies.add_foreign("chance", text)
            if "configparser" in packages and self._opened.reads_any(module, statement):
                self.dependencies.unproven.add(f"{where} reads a file whose path is computed")

    def _judge_all(self) -> None:
        """Include what the project's Python depends on besides itself, as any of it may run."""
        everything = Follower(self._resolver, runs_imports=self._runs_imports, follows_all=True)
        for module in self._parsed_files():
            everything.follow(module, _defined(module))
        self.dependencies.add_outside(everything.dependencies)

    def _parsed_files(self) -> Iterator[Module]:
        """Yield the modules of the project that are valid Python."""
        for file in code_files(self._resolver.root):
            if file.suffix == ".py":
                with suppress(SyntaxError, ValueError):
                    yield self._resolver.module(file)


def _defined(module: Module) -> list[str]:
    """Return the names that a module binds otherwise than by importing them."""
    return [
        name
        for name, statements in module.bindings.items()
        if not all(isinstance(s.node, ast.Import | ast.ImportFrom) for s in statements)
    ]


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]
