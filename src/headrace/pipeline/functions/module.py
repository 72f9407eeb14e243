"""Parses a module of a project: its statements, what each binds, and what each uses.

Source text enters; a `Module` leaves, from which `follow` collects what a function depends on.
Nothing is imported or run.
"""

import ast
import symtable
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from headrace.pipeline.functions.inert import DECLARATIONS, Inertness, bound_names, dotted_name
from headrace.pipeline.functions.syntax import Definition, digest_syntax, digest_words, is_docstring


class Imported(msgspec.Struct, frozen=True):
    """The target of a name that an import binds: a module, or a member of one."""

    module: str
    """As written: dots at the start are relative to the importing module."""
    member: str | None = None


class Use(msgspec.Struct, frozen=True):
    """A global name in a statement, with the attributes that are accessed."""

    name: str
    attributes: tuple[str, ...] = ()
    literal: str | None = None
    """The text that it is called or subscripted with, if that is a constant."""


class Statement:
    """One top-level statement of a module."""

    def __init__(self, node: ast.stmt, inertness: Inertness) -> None:
        self.node = node
        self.is_inert = inertness.is_inert(node)
        self.names = bound_names(node)
        decorators = node.decorator_list if isinstance(node, Definition) else []
        self._declaring = frozenset(
            decorator
            for decorator in decorators
            if inertness.is_known_decorator(decorator, DECLARATIONS)
        )

    @cached_property
    def digest(self) -> str:
        """Return the hash of its syntax, without the decorator that declares a function or view."""
        return digest_syntax([self.node], without=self._declaring)

    def digest_of(self, name: str) -> str:
        """Return the hash of what the statement binds a name to."""
        if not isinstance(self.node, ast.Import | ast.ImportFrom):
            return self.digest
        targets = [f"{i.module} {i.member or ''}" for i in self.imports.get(name, [])]
        return digest_words(["import", *targets])

    @cached_property
    def is_settled(self) -> bool:
        """Return whether the statement binds the same wherever it is in the module."""
        match self.node:
            case ast.Import() | ast.ImportFrom():
                return self.is_inert
            case ast.FunctionDef(args=arguments, decorator_list=decorators):
                further = [node for node in decorators if node not in self._declaring]
                return not (further or arguments.defaults or any(arguments.kw_defaults))
            case ast.Assign(value=ast.Constant()) | ast.AnnAssign(value=ast.Constant()):
                return self.is_inert
            case ast.Expr(value=ast.Constant()):
                return True
            case _:
                return False

    @cached_property
    def imports(self) -> dict[str, list[Imported]]:
        """Return the targets of names that imports anywhere in the statement bind."""
        imports: dict[str, list[Imported]] = {}
        for node in ast.walk(self.node):
            for name, imported in _aliases(node):
                imports.setdefault(name, []).append(imported)
        return imports

    @cached_property
    def modules_run(self) -> tuple[str, ...]:
        """Return the modules that it imports when it runs, as written."""
        return tuple(_modules_of(self.nodes()))

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """Return the modules that it imports with `*`."""
        return tuple(i.module for i in self.imports.get("*", []))

    @cached_property
    def uses(self) -> frozenset[Use]:
        """Return the global names that it uses, including names that an import inside it binds."""
        parsed = ast.Module(body=[self.node], type_ignores=[])
        table = symtable.symtable(ast.unparse(parsed), "statement", "exec")
        names = _global_names(table) | {*self.imports}
        # Inside a class a name with two underscores is mangled, so it always counts.
        uses = {u for u in self._all_uses() if u.name in names or u.name.startswith("__")}
        return frozenset({*uses, *_quoted_uses(self.nodes()), *_class_imports(self.nodes())})

    def _all_uses(self) -> Iterator[Use]:
        inner: set[ast.AST] = set()
        literals: dict[ast.AST, str] = {}
        for node in self.nodes():
            match node:
                case ast.Call(func=called, args=[ast.Constant(value=str(text)), *_]):
                    literals[called] = text
                case ast.Subscript(
                    value=value, slice=ast.Constant(value=str(text)), ctx=ast.Load()
                ):
                    literals[value] = text
            if node in inner:
                continue
            if isinstance(node, ast.Attribute | ast.Name):
                name, *attributes = dotted_name(node) or ("",)
                below: ast.AST = node
                while isinstance(below, ast.Attribute):
                    below = below.value
                    inner.add(below)
                if name:
                    yield Use(name, tuple(attributes), literals.get(node))

    @cached_property
    def written(self) -> frozenset[str]:
        """Return the global names whose value, items or attributes it assigns when called."""
        return frozenset(_written(self.node))

    @cached_property
    def free_names(self) -> frozenset[str]:
        """Return the names that only the module or Python itself can have bound."""
        parsed = ast.Module(body=[self.node], type_ignores=[])
        table = symtable.symtable(ast.unparse(parsed), "statement", "exec")
        return frozenset(_free_names(table))

    @cached_property
    def local_values(self) -> dict[str, list[ast.expr | None]]:
        """Return what a function or class may bind its local names to; None for unknown values."""
        values: dict[str, list[ast.expr | None]] = {}
        for part in ast.walk(self.node) if isinstance(self.node, Definition) else ():
            match part:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    values.setdefault(target, []).append(value)
                case ast.arg(arg=target) | ast.Name(id=target, ctx=ast.Store() | ast.Del()):
                    values.setdefault(target, []).append(None)
                case (
                    ast.ExceptHandler(name=str(target))
                    | ast.MatchAs(name=str(target))
                    | ast.MatchStar(name=str(target))
                    | ast.MatchMapping(rest=str(target))
                ):
                    values.setdefault(target, []).append(None)
                case ast.FunctionDef(name=target) | ast.ClassDef(name=target):
                    if part is not self.node:
                        values.setdefault(target, []).append(None)
        return values

    @cached_property
    def methods(self) -> frozenset[str]:
        """Return the names of the functions that are defined inside it."""
        inner = (node for node in ast.walk(self.node) if node is not self.node)
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return frozenset(node.name for node in inner if isinstance(node, kinds))

    @cached_property
    def assigned_attributes(self) -> frozenset[str]:
        """Return the attributes that it assigns, or that `setattr` does; `*` for computed names."""
        return frozenset(_assigned_attributes(self._nodes))

    def nodes(self) -> Iterator[ast.AST]:
        """Iterate over its syntax, top down, without declaring decorators and docstrings."""
        return iter(self._nodes)

    @cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        nodes: list[ast.AST] = []
        waiting: deque[ast.AST] = deque([self.node])
        while waiting:
            node = waiting.popleft()
            if node in self._declaring or is_docstring(node):
                continue
            nodes.append(node)
            waiting.extend(ast.iter_child_nodes(node))
        return tuple(nodes)


class Module:
    """A parsed module of the project."""

    def __init__(self, *, file: Path, name: str, text: str) -> None:
        """Parse a module.

        Raises:
            SyntaxError, ValueError: the source is not Python.
        """
        self.file, self.name, self.text = file, name, text
        self.tree = ast.parse(text)
        body = [node for node in self.tree.body if not _is_main_guard(node)]
        inertness = Inertness(_only_imports(body), body)
        self.statements = [Statement(node, inertness) for node in body]
        self.effects = [statement for statement in self.statements if not statement.is_inert]
        self.bindings: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for bound in sorted(statement.names - {"*"}):
                self.bindings.setdefault(bound, []).append(statement)

    @cached_property
    def digest(self) -> str:
        """Return the hash of the whole module."""
        return digest_syntax([self.tree])

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """Return the modules that it imports with `*`, as written."""
        return tuple(star for statement in self.statements for star in statement.stars)

    @cached_property
    def modules_run(self) -> tuple[str, ...]:
        """Return the modules that importing this one imports, as written."""
        return tuple(_modules_of(_run_on_import(self.tree)))

    @cached_property
    def modules_called(self) -> tuple[str | None, ...]:
        """Return the modules that its functions may import when called; None for any module."""
        on_import = {*_run_on_import(self.tree)}
        called = [node for node in ast.walk(self.tree) if node not in on_import]
        names = {
            name for node in called if isinstance(node, ast.expr) for name in dotted_name(node)
        }
        written = [*_modules_of(ast.walk(self.tree))]
        is_computed = "__import__" in names or any(m.startswith("importlib") for m in written)
        return (*_modules_of(iter(called)), *([None] if is_computed else []))

    def writers(self, name: str) -> Iterator[str]:
        """Iterate over the functions that assign to a global name, its items or attributes."""
        return (writer for writer in self._writers.get(name, ()) if writer != name)

    @cached_property
    def _writers(self) -> dict[str, dict[str, None]]:
        """Return the functions that assign to each global name, in the order of the module."""
        writers: dict[str, dict[str, None]] = {}
        for writer, statements in self.bindings.items():
            for statement in statements:
                for name in statement.written:
                    writers.setdefault(name, {})[writer] = None
        return writers

    def assigned(self, name: str) -> ast.expr | None:
        """Return the expression that a name is bound to; None unless bound exactly once."""
        match [statement.node for statement in self.bindings.get(name, [])]:
            case [ast.Assign(targets=[ast.Name()], value=value)]:
                return value
            case [ast.AnnAssign(value=ast.expr() as value)]:
                return value
            case _:
                return None


def _aliases(node: ast.AST) -> Iterator[tuple[str, Imported]]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                module = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or module, Imported(module)
        case ast.ImportFrom(module=module, names=names, level=level):
            for alias in names:
                imported = Imported("." * level + (module or ""), alias.name)
                yield alias.asname or alias.name, imported


def _quoted_uses(nodes: Iterator[ast.AST]) -> Iterator[Use]:
    """Return the names in annotations that are written as strings."""
    for node in nodes:
        for field in ("annotation", "returns"):
            annotation = getattr(node, field, None)
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                with suppress(SyntaxError):
                    parsed = ast.parse(annotation.value, mode="eval")
                    yield from _dotted_uses(parsed)


def _dotted_uses(parsed: ast.AST) -> Iterator[Use]:
    inner: set[ast.AST] = set()
    for node in ast.walk(parsed):
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if isinstance(node, ast.Attribute | ast.Name) and node not in inner:
            name, *attributes = dotted_name(node) or ("",)
            if name:
                yield Use(name, tuple(attributes))


def _class_imports(nodes: Iterator[ast.AST]) -> Iterator[Use]:
    """Return the names that imports in the body of a class bind: they are attributes of it."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            for part in _run_on_import(node):
                yield from (Use(name) for name, _ in _aliases(part))


def _modules_of(nodes: Iterator[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = "." * level + (module or "")
                yield base
                dot = "" if base.endswith(".") else "."
                yield from (f"{base}{dot}{alias.name}" for alias in names if alias.name != "*")


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the syntax that runs on import: everything except function bodies."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from _run_on_import(child)


def _only_imports(body: list[ast.stmt]) -> dict[str, str]:
    """Return the targets of names that only one absolute import binds."""
    counts: dict[str, int] = {}
    for statement in body:
        for name in bound_names(statement):
            counts[name] = counts.get(name, 0) + 1
    return {
        name: imported.module if imported.member is None else f"{imported.module}.{imported.member}"
        for statement in body
        for name, imported in _aliases(statement)
        if counts[name] == 1 and not imported.module.startswith(".")
    }


def _is_main_guard(node: ast.stmt) -> bool:
    """Return whether a statement runs only if the module is run as a script."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and ast.unparse(node.test) in {"__name__ == '__main__'", "'__main__' == __name__"}
    )


def _global_names(table: symtable.SymbolTable) -> set[str]:
    """Return the names of a scope and of inner scopes that may be global."""
    is_open = table.get_type() in {"module", "class"}  # a class falls back to the module's names
    names = {s.get_name() for s in table.get_symbols() if is_open or s.is_global()}
    return names.union(*map(_global_names, table.get_children()))


def _free_names(table: symtable.SymbolTable) -> set[str]:
    names = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return names.union(*map(_free_names, table.get_children()))


def _assigned_attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Attribute(attr=name, value=ast.Name(id=owner), ctx=ast.Store()):
                if owner not in {"self", "cls"}:
                    yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name
            case ast.Name(id="setattr"):
                yield "*"


def _written(node: ast.stmt) -> set[str]:
    if not isinstance(node, Definition):
        return set()
    names: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Global(names=declared):
                names.update(declared)
            case (
                ast.Subscript(ctx=ast.Store() | ast.Del())
                | ast.Attribute(ctx=ast.Store() | ast.Del())
            ):
                below: ast.expr = part
                while isinstance(below, ast.Subscript | ast.Attribute):
                    below = below.value
                if isinstance(below, ast.Name):
                    names.add(below.id)
    return names
