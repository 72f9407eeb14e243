"""Hashes Python syntax, without comments, docstrings and layout.

A hash is the same on every machine, and for every Python that parses the source to the same tree.
"""

import ast
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

_IGNORED_FIELDS = frozenset({"ctx", "kind", "type_comment", "lineno", "col_offset"})

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
"""A statement that defines a function or a class."""


def digest_words(words: Iterable[str]) -> str:
    """Return one hash of words in order."""
    digest = sha256()
    for word in words:
        digest.update(word.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def digest_syntax(nodes: Iterable[ast.AST], *, without: frozenset[ast.expr] = frozenset()) -> str:
    """Return one hash of syntax trees in order, without the decorators in `without`."""
    return digest_words(word for node in nodes for word in _words(node, without))


def _words(node: Any, without: frozenset[ast.expr]) -> Iterator[str]:
    """Yield a syntax tree as words; empty fields, such as those of newer Pythons, are omitted."""
    if not isinstance(node, ast.AST):
        yield repr(node)
        return
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in _IGNORED_FIELDS:
            continue
        parts = value if isinstance(value, list) else [value]
        if name == "decorator_list":
            parts = [part for part in parts if part not in without]
        if name == "body" and parts and isinstance(node, Definition | ast.Module):
            parts = parts[1:] if is_docstring(parts[0]) else parts
        if parts and parts != [None]:
            yield f"{name}("
            for part in parts:
                yield from _words(part, without)
            yield ")"


def is_docstring(statement: Any) -> bool:
    """Return whether a statement is only a string."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
