"""Spark SQL as a tree in which every function keeps the name that the author wrote.

sqlglot turns known functions into nodes of its own, which forget which of Spark's spellings
they came from. Here a call stays a call; only forms with a syntax of their own become nodes.
"""

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

_OWN_SYNTAX = frozenset({"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR"})


class _CallText(Spark):
    """The dialect."""

    class Tokenizer(Spark.Tokenizer):
        """A doubled quote inside a string stands for itself."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  (sqlglot reads it off the class)

    class Parser(SparkParser):
        """Knows no functions."""

        STRICT_CAST = True
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name in _OWN_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name != "TRANSFORM"
        }


def parse_calls(sql: str) -> exp.Expr:
    """Read a query; it has been read before, so that it is known to be one."""
    trees = [tree for tree in _CallText().parse(sql) if tree is not None]
    return trees[0]


_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)|''", re.DOTALL)
_MEANT = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def string_value(written: str) -> str:
    """The text that a string literal stands for, quotes and all, as Spark reads it."""
    quote = written[0]
    inner = written[1:-1]

    def meant(match: re.Match[str]) -> str:
        code = match[1]
        if code is None:
            return quote if quote == "'" else match[0]
        if code[0] in "uU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if len(code) == 3:  # noqa: PLR2004
            return chr(int(code, 8))
        if code in "%_":
            return f"\\{code}"
        return _MEANT.get(code, code)

    if quote == '"':
        inner = inner.replace('""', '"')
    return _ESCAPE.sub(meant, inner)
