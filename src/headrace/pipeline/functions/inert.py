"""Decides which statements of a module do nothing on import but bind names.

A statement for which this is not proven is part of every fingerprint that reaches its module. The
proof is syntactic: constants, containers, definitions without unknown decorators or bases, and
calls that are known to have no effect.
"""

import ast
import builtins
import sys
from collections.abc import Mapping

_BUILTIN_CALLS = frozenset(
    {
        *("abs", "bool", "bytes", "complex", "dict", "divmod", "float", "format", "frozenset"),
        *("int", "len", "list", "max", "min", "object", "ord", "chr", "pow", "range", "repr"),
        *("round", "set", "slice", "sorted", "str", "sum", "tuple", "isinstance", "issubclass"),
    }
)
_CALLING = frozenset({"max", "min", "sorted"})
"""The harmless calls that call their `key`."""
_CALLS = frozenset(
    {
        *("re.compile", "decimal.Decimal", "fractions.Fraction", "zoneinfo.ZoneInfo"),
        *("pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath", "os.path.join"),
        *("os.path.dirname", "os.path.abspath", "os.path.realpath", "datetime.timedelta"),
        *("datetime.date", "datetime.datetime", "datetime.time", "datetime.timezone"),
        *("collections.namedtuple", "collections.OrderedDict", "collections.Counter"),
        *("functools.partial", "functools.lru_cache", "types.MappingProxyType"),
        *("typing.TypeVar", "typing.NewType", "typing.ParamSpec", "logging.getLogger"),
        *("dataclasses.field", "enum.auto", "struct.Struct", "msgspec.field"),
        *("numpy.array", "numpy.int64", "numpy.float64", "numpy.dtype"),
        *("operator.itemgetter", "operator.attrgetter", "pyarrow.array", "pyarrow.scalar"),
    }
)
_ARROW_TYPES = frozenset(
    {
        *("null", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "float16", "float32", "float64", "string", "utf8", "large_string", "binary"),
        *("large_binary", "date32", "date64", "timestamp", "duration", "time32", "time64"),
        *("decimal128", "decimal256", "list_", "large_list", "map_", "struct", "dictionary"),
        *("field", "schema"),
    }
)
DECLARATIONS = frozenset(
    {
        *(
            f"headrace.pipeline{module}.{name}"
            for module in ("", ".functions.declaration")
            for name in ("function", "aggregate", "window", "table_function")
        ),
        *("headrace.pipeline.view", "headrace.pipeline.project.view.view"),
    }
)
"""The decorators whose arguments are already part of a signature or a header."""

_DECORATORS = DECLARATIONS | frozenset(
    {
        *("staticmethod", "classmethod", "property", "functools.cache", "functools.lru_cache"),
        *("functools.wraps", "functools.cached_property", "functools.total_ordering"),
        *("dataclasses.dataclass", "contextlib.contextmanager", "abc.abstractmethod"),
        *("typing.overload", "typing.final", "typing.override", "enum.unique"),
    }
)
_BASES = frozenset(
    {
        *("object", "Exception", "ValueError", "TypeError", "RuntimeError", "KeyError", "dict"),
        *("list", "tuple", "str", "int", "float", "abc.ABC", "enum.Enum", "enum.IntEnum"),
        *("enum.StrEnum", "enum.Flag", "typing.NamedTuple", "typing.TypedDict"),
        *("typing.Protocol", "typing.Generic", "msgspec.Struct"),
    }
)
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag"})
"""The bases that create their members, and so run methods, when a class is defined."""
_PACKAGES = frozenset({"pyarrow", "numpy", "pandas", "polars", "pyspark", "msgspec", "headrace"})
_PATH_METHODS = frozenset({"resolve", "absolute", "joinpath", "with_name", "with_suffix"})
_OPERATIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice),
    *(ast.JoinedStr, ast.FormattedValue, ast.Attribute),
)


def dotted_name(node: ast.expr) -> tuple[str, ...]:
    """Return the parts of `a.b.c`; empty if an expression is not such a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


class Inertness:
    """Classifies the statements of one module."""

    def __init__(self, imports: Mapping[str, str], body: list[ast.stmt]) -> None:
        """Take the module's statements, and the targets of names that only an import binds."""
        self._imports = imports
        self._plain = {*dir(builtins), "__name__", "__file__"} - _bound_anywhere(body)
        if "*" in _bound_anywhere(body):  # it may bind any name
            self._plain = set()
        for statement in body:
            match statement:
                case ast.FunctionDef(name=name, decorator_list=decorators):
                    if all(map(self.is_known_decorator, decorators)):
                        self._plain.add(name)
                case ast.ClassDef(name=name):
                    if self._is_inert_class(statement) and not _has_own_items(statement):
                        self._plain.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if not _calls(value) and self.is_pure(value):
                        self._plain.add(name)
        for name in _bound_twice(body):
            self._plain.discard(name)

    def resolve(self, node: ast.expr) -> str:
        """Return the full dotted name of an expression; empty if it is not known."""
        name, *attributes = dotted_name(node) or ("",)
        if name in self._imports:
            return ".".join([self._imports[name], *attributes])
        return (
            ".".join([name, *attributes]) if name in self._plain and hasattr(builtins, name) else ""
        )

    def is_inert(self, statement: ast.stmt) -> bool:
        """Return whether a statement only binds names."""
        match statement:
            case ast.Import() | ast.Pass():
                return True
            case ast.ImportFrom(module=module, names=names):
                return module != "__future__" and all(alias.name != "*" for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._is_inert_function(statement)
            case ast.ClassDef():
                return self._is_inert_class(statement)
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_name, targets)) and self.is_pure(value)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                expressions = [annotation, *([value] if value else [])]
                return _is_name(target) and all(map(self.is_pure, expressions))
            case ast.Expr(value=ast.Constant()):
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                return self.is_pure(test) and all(map(self.is_inert, [*body, *orelse]))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                caught = [part for handler in handlers for part in handler.body]
                kinds = [handler.type for handler in handlers if handler.type is not None]
                return all(map(self.is_pure, kinds)) and all(
                    map(self.is_inert, [*body, *caught, *orelse, *finalbody])
                )
            case _:
                return False

    def is_pure(self, node: ast.expr, *, operated: bool = False) -> bool:
        """Return whether evaluating an expression has no side effect.

        A name by itself has none. Operations on a name are pure only if its type is known from the
        source: reading an item of a `defaultdict` changes it.
        """
        match node:
            case ast.Constant() | ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[])):
                return True
            case ast.Name(id=name):
                return not operated or name in self._plain or self._is_of_package(name)
            case ast.Attribute() if dotted_name(node)[:1] and dotted_name(node)[0] in self._imports:
                return not operated or self._is_of_package(dotted_name(node)[0])
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return all(self.is_pure(element, operated=operated) for element in elements)
            case ast.Dict(keys=keys, values=values):
                parts = [part for part in (*keys, *values) if part is not None]
                return None not in keys and all(
                    self.is_pure(part, operated=operated) for part in parts
                )
            case ast.Call(func=called, args=arguments, keywords=keywords):
                parts = [*arguments, *(keyword.value for keyword in keywords)]
                return (
                    self._is_harmless(called)
                    and all(self.is_pure(part, operated=True) for part in parts)
                    and (
                        self.resolve(called) not in _CALLING
                        or all(map(self._is_harmless_key, keywords))
                    )
                )
            case _ if isinstance(node, _OPERATIONS):
                return all(
                    self.is_pure(child, operated=True)
                    for child in ast.iter_child_nodes(node)
                    if isinstance(child, ast.expr)
                )
            case _:
                return False

    def _is_of_package(self, name: str) -> bool:
        """Return whether a name is imported from a package whose values are harmless."""
        package = self._imports.get(name, "").partition(".")[0]
        return package in _PACKAGES or package in sys.stdlib_module_names

    def _is_harmless(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Attribute) and not dotted_name(called):
            on_text = isinstance(called.value, ast.Constant)
            return on_text or (called.attr in _PATH_METHODS and self.is_pure(called.value))
        name = self.resolve(called)
        package, _, kind = name.rpartition(".")
        return (
            name in _BUILTIN_CALLS
            or name in _CALLS
            or (package == "pyarrow" and kind in _ARROW_TYPES)
        )

    def _is_harmless_key(self, keyword: ast.keyword) -> bool:
        """Return whether an argument of `sorted`, `max` or `min` calls nothing of the project."""
        return keyword.arg in {"default", "reverse"} or (
            keyword.arg == "key" and self.resolve(keyword.value) in _BUILTIN_CALLS
        )

    def is_known_decorator(self, node: ast.expr, known: frozenset[str] = _DECORATORS) -> bool:
        """Return whether a decorator is in `known` and its arguments are pure."""
        if isinstance(node, ast.Call):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            return self.is_known_decorator(node.func, known) and all(
                self.is_pure(part, operated=False) for part in parts
            )
        return self.resolve(node) in known

    def _is_inert_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        arguments = node.args
        everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        everything += [part for part in (arguments.vararg, arguments.kwarg) if part]
        evaluated = [part.annotation for part in everything] + [node.returns]
        evaluated += [*arguments.defaults, *arguments.kw_defaults]
        return all(map(self.is_known_decorator, node.decorator_list)) and all(
            self.is_pure(part) for part in evaluated if part is not None
        )

    def _is_inert_class(self, node: ast.ClassDef) -> bool:
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        resolved = [*map(self.resolve, bases)]
        options = {keyword.arg for keyword in node.keywords}
        return (
            all(base in _BASES for base in resolved)
            and not (_ENUMS.intersection(resolved) and any(map(_is_hook, node.body)))
            and options <= {"frozen", "kw_only", "total"}
            and all(map(self.is_known_decorator, node.decorator_list))
            and all(map(self._is_inert_member, node.body))
        )

    def _is_inert_member(self, statement: ast.stmt) -> bool:
        """Return whether a statement of a class only binds names.

        A class calls `__set_name__` of the values that it binds.
        """
        match statement:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self.is_inert(statement) and self.is_pure(value, operated=True)
            case ast.If() | ast.Try():
                return not bound_names(statement)
            case _:
                return self.is_inert(statement)


def _is_hook(statement: ast.stmt) -> bool:
    """Return whether a statement of a class defines a method that only Python calls."""
    return isinstance(statement, ast.FunctionDef) and statement.name.startswith("_")


def _has_own_items(node: ast.ClassDef) -> bool:
    """Return whether `K[item]` calls a method of the class."""
    return "__class_getitem__" in _bound_anywhere(node.body)


def _is_name(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Tuple) and all(map(_is_name, target.elts))
    )


def _calls(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.Name) for part in ast.walk(node))


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement may bind or unbind in its own scope."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}.union(*map(_stored, statement.decorator_list))
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    names: set[str] = set()
    for child in ast.iter_child_nodes(statement):
        names |= bound_names(child) if isinstance(child, ast.stmt) else _stored(child)
    return names


def _stored(node: ast.AST) -> set[str]:
    names: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    return names


def _bound_anywhere(body: list[ast.stmt]) -> set[str]:
    return set().union(*map(bound_names, body))


def _bound_twice(body: list[ast.stmt]) -> set[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for statement in body:
        names = bound_names(statement)
        twice |= seen & names
        seen |= names
    return twice
