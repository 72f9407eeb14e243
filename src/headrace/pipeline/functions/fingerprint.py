"""What a function is made of: its own text, that of its helpers, the packages it imports.

Read from the source, not from the running objects: names are followed from the function through
the modules of its project, and each statement on the way is digested as a syntax tree, so that
comments, docstrings and layout do not count and the digest is the same on every machine. What
a function reaches only by computing a name at run time is not seen.
"""

import ast
import inspect
import symtable
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import InvalidFunctionError
from headrace.pipeline.functions.declaration import Function

_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "lineno", "col_offset"})


class FunctionPart(msgspec.Struct, frozen=True, kw_only=True):
    """What of a function goes into keys, part by part, so that a change can be named."""

    signature: str
    source: str
    """The digest of the function's own text."""
    helpers: dict[str, str] = {}
    """The digests of what it uses of its project, by module and name."""
    packages: dict[str, str] = {}
    """The versions of what it imports."""

    @property
    def fingerprint(self) -> str:
        """One digest of all parts."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def function_part(function: Function, *, root: Path) -> FunctionPart:
    """Follow a function through the modules below `root`.

    Raises:
        InvalidFunctionError: its text cannot be found.
    """
    signature = f"{function.name}{function.signature} {function.volatility}"
    return code_part(function.kernel, signature=signature, root=root)


def code_part(code: Callable[..., Any], *, signature: str, root: Path) -> FunctionPart:
    """The same for any Python function, under a signature of the caller's."""
    found = inspect.getsourcefile(code)
    name = code.__name__
    if found is None or name not in _module(Path(found)).bindings:
        reason = "its text cannot be found: define it at the top level of a module"
        raise InvalidFunctionError(function=name, reason=reason)
    return _Closure(root).part(Path(found), name, signature)


class _Module:
    """A module's text: which statement binds a name, and which name is an import."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        self.file = file
        self.bindings: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for statement in _flat(ast.parse(text).body):
            self._bind(statement)
        self._tables: dict[tuple[str, int], symtable.SymbolTable] = {
            (table.get_name(), table.get_lineno()): table
            for table in symtable.symtable(text, str(file), "exec").get_children()
        }

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    module = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imports[alias.asname or module] = (module, None)
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    self.imports[alias.asname or alias.name] = (
                        "." * level + (module or ""),
                        alias.name,
                    )
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                self.bindings.setdefault(name, []).append(statement)
            case _:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        self.bindings.setdefault(node.id, []).append(statement)

    def uses(self, statement: ast.stmt) -> Iterator[tuple[str, str | None]]:
        """The module's names that a statement refers to, with the attribute it takes of each."""
        taken: dict[str, set[str | None]] = {}
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                taken.setdefault(node.value.id, set()).add(node.attr)
            elif isinstance(node, ast.Name):
                taken.setdefault(node.id, set())
        names = self._globals(statement)
        for name in sorted(names & taken.keys()):
            for attribute in sorted(taken[name], key=str) or [None]:
                yield name, attribute

    def _globals(self, statement: ast.stmt) -> set[str]:
        match statement:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                first = min([statement.lineno, *(d.lineno for d in statement.decorator_list)])
                table = self._tables.get((name, statement.lineno)) or self._tables.get(
                    (name, first)
                )
                if table is not None:
                    return _global_names(table)
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


class _Closure:
    """Everything that one function reaches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.helpers: dict[str, str] = {}
        self.packages: dict[str, str] = {}

    def part(self, file: Path, name: str, signature: str) -> FunctionPart:
        start = f"{self._label(file)}:{name}"
        waiting = [(file, name)]
        while waiting:
            at, wanted = waiting.pop()
            label = f"{self._label(at)}:{wanted}"
            if label in self.helpers:
                continue
            module = _module(at)
            statements = module.bindings.get(wanted, [])
            self.helpers[label] = _digest(statements)
            for statement in statements:
                for used, attribute in module.uses(statement):
                    waiting += self._reached(module, used, attribute)
        source = self.helpers.pop(start)
        return FunctionPart(
            signature=signature,
            source=source,
            helpers=dict(sorted(self.helpers.items())),
            packages=dict(sorted(self.packages.items())),
        )

    def _reached(
        self, module: _Module, name: str, attribute: str | None
    ) -> Iterator[tuple[Path, str]]:
        if name in module.bindings:
            yield module.file, name
        elif name in module.imports:
            imported, member = module.imports[name]
            yield from self._imported(module.file, imported, member, attribute)

    def _imported(
        self, importer: Path, imported: str, member: str | None, attribute: str | None
    ) -> Iterator[tuple[Path, str]]:
        file = self._first_party(importer, imported)
        if file is not None and member is not None and member not in _module(file).bindings:
            submodule = self._first_party(importer, f"{imported}.{member}")
            if submodule is not None:
                file, member = submodule, None
        if file is None:
            self._package(imported.partition(".")[0])
            return
        wanted = member or attribute
        names = [wanted] if wanted else list(_module(file).bindings)
        for name in names:
            if name in _module(file).bindings:
                yield file, name
            elif name in _module(file).imports:  # handed on from a third module
                yield from self._imported(file, *_module(file).imports[name], attribute)

    def _first_party(self, importer: Path, imported: str) -> Path | None:
        """The file of a module, if it is below the root."""
        dots = len(imported) - len(imported.lstrip("."))
        start = importer.parents[dots - 1] if dots else self.root
        path = start.joinpath(*imported.lstrip(".").split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
        return None

    def _package(self, name: str) -> None:
        if name in sys.stdlib_module_names:
            self.packages["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        else:
            distribution, version = _installed(name)
            self.packages[distribution] = version

    def _label(self, file: Path) -> str:
        resolved, root = file.resolve(), self.root.resolve()
        inside = resolved.relative_to(root) if resolved.is_relative_to(root) else Path(file.name)
        return inside.as_posix()


@cache
def _installed(module: str) -> tuple[str, str]:
    """The distribution that a module comes from, and its version."""
    try:
        return module, metadata.version(module)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(module)
        return (names[0], metadata.version(names[0])) if names else (module, "unknown")


_parsed: dict[tuple[Path, int, int], _Module] = {}


def _module(file: Path) -> _Module:
    """A module's text, parsed once as long as the file stays the same."""
    status = file.stat()
    key = (file, status.st_mtime_ns, status.st_size)
    if key not in _parsed:
        _parsed[key] = _Module(file)
    return _parsed[key]


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under an `if`, `try` or `with`."""
    for statement in body:
        inner = [
            *(
                part
                for name in ("body", "orelse", "finalbody")
                for part in getattr(statement, name, ())
            ),
            *(part for handler in getattr(statement, "handlers", ()) for part in handler.body),
        ]
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _flat(inner)
        else:
            yield statement


def _global_names(table: symtable.SymbolTable) -> set[str]:
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return names.union(*map(_global_names, table.get_children()))


def _digest(statements: list[ast.stmt]) -> str:
    hashed = sha256()
    for statement in statements:
        for word in _words(statement, is_top=True):
            hashed.update(word.encode())
            hashed.update(b"\0")
    return hashed.hexdigest()


def _words(node: Any, *, is_top: bool = False) -> Iterator[str]:
    """A syntax tree as words; what is empty says nothing, so that new fields change nothing."""
    if not isinstance(node, ast.AST):
        yield repr(node)
        return
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in _IGNORED_FIELDS or (is_top and name == "decorator_list"):
            continue
        parts = value if isinstance(value, list) else [value]
        if name == "body" and parts and _is_docstring(parts[0]):
            parts = parts[1:]
        if parts and parts != [None]:
            yield f"{name}("
            for part in parts:
                yield from _words(part)
            yield ")"


def _is_docstring(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
