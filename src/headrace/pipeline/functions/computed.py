"""Finds calls that reach code by a computed name, or evaluate text as code.

A call enters; what it may reach leaves. A name that starts with a module of the project is not
reported: all of the project's Python is included where such a name is used.
"""

import ast

import msgspec

from headrace.pipeline.functions.folding import Folding
from headrace.pipeline.functions.module import Module
from headrace.pipeline.functions.outside import IMPORTERS
from headrace.pipeline.functions.resolution import Resolver

_EVALUATORS = frozenset({"eval", "exec", "compile"})


class Computed(msgspec.Struct, frozen=True):
    """What a call reaches."""

    thing: str
    code: str | None = None
    """The code that it evaluates, if the source contains it as text."""
    module: str | None = None
    """The module that it imports, if its name is built from constants."""

    def code_in(self, module: Module) -> Module | None:
        """Return the code as if it were in a module; None if there is none."""
        try:
            return Module(file=module.file, name=module.name, text=self.code or "")
        except (SyntaxError, ValueError):
            return None


def find_computed(call: ast.Call, folding: Folding, resolver: Resolver) -> Computed | None:
    """Return what a call reaches by a computed name or text; None for other calls."""
    called = folding.dotted(call.func)
    match call.args:
        case [source, *_] if called in _EVALUATORS:
            return Computed("code that is computed", folding.fold(source))
        case [name, *_] if called in IMPORTERS:
            is_known = isinstance(name, ast.Constant) or _is_followed(name, resolver)
            thing = "a module whose name is computed"
            return None if is_known else Computed(thing, module=folding.fold(name))
        case [owner, name, *_] if called == "getattr" and not isinstance(name, ast.Constant):
            package = folding.imported(owner)
            is_package = bool(package) and not _is_followed_top(package, resolver)
            return Computed(f"any name of {package}") if is_package else None
        case [name, *_] if called == "operator.methodcaller":
            is_known = isinstance(name, ast.Constant)
            return None if is_known else Computed("a method whose name is computed")
        case _:
            return None


def _is_followed(node: ast.expr, resolver: Resolver) -> bool:
    """Return whether a computed name of a module starts with a module that is followed."""
    match node:
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
            return "." in start and _is_followed_top(start, resolver)
        case ast.BinOp(left=ast.Constant(value=str(start)), op=ast.Add()):
            return "." in start and _is_followed_top(start, resolver)
        case _:
            return False


def _is_followed_top(name: str, resolver: Resolver) -> bool:
    top = name.partition(".")[0]
    return not top or resolver.is_followed(top)
