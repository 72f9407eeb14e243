"""Evaluates string expressions of a project's source, without running it.

An expression enters; its value leaves, or None if it is not static. Supported are constants,
`__file__`, and what `pathlib` and `os.path` build from them; a name is resolved if exactly one
assignment binds it.
"""

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace.pipeline.functions.inert import dotted_name
from headrace.pipeline.functions.module import Imported, Module, Statement
from headrace.pipeline.functions.resolution import Resolver
from headrace.pipeline.functions.syntax import Definition


def _joined(*parts: str) -> str:
    return str(Path(*parts))


_CALLS: dict[str, Callable[..., str]] = {
    "pathlib.Path": _joined,
    "pathlib.PurePath": _joined,
    "os.path.join": _joined,
    "os.path.dirname": lambda path: str(Path(path).parent),
    "os.path.abspath": lambda path: str(Path(path).absolute()),
    "os.path.realpath": lambda path: str(Path(path).resolve()),
    "os.fspath": str,
    "str": str,
}
_METHODS: dict[str, Callable[..., str]] = {
    "joinpath": _joined,
    "resolve": lambda path: str(Path(path).resolve()),
    "absolute": lambda path: str(Path(path).absolute()),
    "as_posix": lambda path: Path(path).as_posix(),
    "with_name": lambda path, name: str(Path(path).with_name(name)),
    "with_suffix": lambda path, suffix: str(Path(path).with_suffix(suffix)),
}


class Folding:
    """Evaluates the expressions of one statement."""

    def __init__(self, resolver: Resolver, module: Module, statement: Statement) -> None:
        self._resolver, self._module, self._statement = resolver, module, statement
        self._open: set[str] = set()
        self.names: set[str] = set()
        """The names whose values it has used."""

    def dotted(self, node: ast.expr) -> str:
        """Return the full name of a function of a package or of Python; empty for others."""
        name, *attributes = dotted_name(node) or ("",)
        for imported in self._imports(name):
            return ".".join(filter(None, [imported.module, imported.member, *attributes]))
        return name if name and not attributes and name not in self._module.bindings else ""

    def imported(self, node: ast.expr) -> str:
        """Return the full name of what an import binds; empty for other expressions."""
        name, *_ = dotted_name(node) or ("",)
        return self.dotted(node) if self._imports(name) else ""

    def has_import(self, package: str) -> bool:
        """Return whether the module, or the statement, imports from a package."""
        statements = (self._statement, *self._module.statements)
        return any(
            written.partition(".")[0] == package
            for statement in statements
            for written in statement.modules_run
        )

    def is_function_of_module(self, node: ast.Attribute) -> bool:
        """Return whether `a.b` is a function of an imported module, not a method."""
        name, *attributes = dotted_name(node) or ("",)
        imports = self._imports(name)
        if not imports:
            return False
        is_project = any(
            i.module.startswith(".") or self._resolver.is_followed(i.module) for i in imports
        )
        return not is_project or (len(attributes) == 1 and all(i.member is None for i in imports))

    def fold(self, node: ast.expr) -> str | None:  # noqa: C901  (a case for each kind of expression)
        """Return the string that an expression evaluates to; None if it is not static."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id="__file__"):
                return str(self._module.file)
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._combined(_joined, left, right)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._combined(lambda *parts: "".join(parts), left, right)
            case ast.JoinedStr(values=values):
                return self._combined(lambda *parts: "".join(parts), *values)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.fold(value)
            case ast.Attribute(value=value, attr="parent"):
                return self._combined(lambda path: str(Path(path).parent), value)
            case ast.Subscript(
                value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(up))
            ):
                return self._combined(lambda path: str(Path(path).parents[up]), value)
            case ast.Call(keywords=[]):
                return self._called(node)
            case _:
                return None

    def _combined(self, combine: Callable[..., str], *nodes: ast.expr) -> str | None:
        folded = [self.fold(node) for node in nodes]
        texts = [text for text in folded if text is not None]
        if len(texts) < len(folded):
            return None
        try:
            return combine(*texts)
        except (ValueError, TypeError, IndexError, OSError, RuntimeError):
            return None

    def _called(self, node: ast.Call) -> str | None:
        called = self.dotted(node.func)
        if called in _CALLS:
            return self._combined(_CALLS[called], *node.args)
        if called == "importlib.resources.files":
            return self.resource(node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return self._combined(_METHODS[node.func.attr], node.func.value, *node.args)
        return None

    def resource(self, nodes: Sequence[ast.expr]) -> str | None:
        """Return the path of a resource: a package, by name or as a module, and names below it."""
        if not nodes:
            return None
        package, *names = nodes
        module = self.fold(package) or self._module_named(package)
        origin = None if module is None else self._resolver.find(module)
        if not isinstance(origin, Module):
            return None
        folder = ast.Constant(value=str(origin.file.parent))
        return self._combined(_joined, folder, *names)

    def _module_named(self, node: ast.expr) -> str | None:
        """Return the absolute name of the module that a name is imported as."""
        name, *attributes = dotted_name(node) or ("",)
        match self._imports(name):
            case [Imported(module=module, member=member)]:
                dot = "" if module.endswith(".") or member is None else "."
                written = ".".join([f"{module}{dot}{member or ''}", *attributes])
                return self._resolver.absolute(self._module, written)
        return None

    def _imports(self, name: str) -> list[Imported]:
        return self._statement.imports.get(name) or [
            imported
            for statement in self._module.bindings.get(name, [])
            for imported in statement.imports.get(name, [])
        ]

    def _named(self, name: str) -> str | None:
        if name in self._open or any(self._module.writers(name)):
            return None
        self._open.add(name)
        try:
            if name in self._statement.local_values:
                local = _only_value(self._statement.local_values[name])
                return None if local is None else self.fold(local)
            self.names.add(name)
            is_local_import = isinstance(self._statement.node, Definition)
            if is_local_import and name in self._statement.imports:
                return self._imported(name)
            value = self._module.assigned(name)
            return self._imported(name) if value is None else self.fold(value)
        finally:
            self._open.discard(name)

    def _imported(self, name: str) -> str | None:
        match self._imports(name):
            case [Imported(module=module, member=str(member))]:
                target = self._resolver.absolute(self._module, module)
                origin = None if target is None else self._resolver.find(target)
                if isinstance(origin, Module) and origin.assigned(member) is not None:
                    inner = Folding(self._resolver, origin, origin.bindings[member][0])
                    inner.names = self.names
                    return inner._named(member)
        return None


def _only_value(values: Sequence[ast.expr | None]) -> ast.expr | None:
    """Return the expression that a local name is bound to; None unless bound exactly once."""
    # The walk visits an assignment twice, as a statement and as the name that it stores to.
    known = [value for value in values if value is not None]
    return known[0] if len(values) == 2 and len(known) == 1 else None  # noqa: PLR2004
