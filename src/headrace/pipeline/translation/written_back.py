"""Compares a query with its syntax tree, written back as text.

The parser is lenient: it skips a second comma, does without some keywords, and takes clauses in any
order. Spark rejects such a query. Instead of a rule for each case, the tree has to account for each
word of the query, in order; values, parentheses and the words in `_SAME` are not compared.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.generators.spark import SparkGenerator

from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.syntax import (
    IS_SIGN,
    WRITTEN_TYPE,
    SparkText,
    TypeText,
    tokenize,
)


class _Writer(SparkGenerator):
    """Writes each form as an author does, without the rewriting that other databases need."""

    TRANSFORMS = {
        kind: write
        for kind, write in SparkGenerator.TRANSFORMS.items()
        if kind not in {exp.Select, exp.CTE, exp.Subquery, exp.From, exp.WithinGroup}
    } | {
        exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
        exp.NullSafeNEQ: lambda self, node: self.binary(node, "<=>"),
        exp.Cast: lambda self, node: self._cast(node),
        exp.TryCast: lambda self, node: f"TRY_CAST({self._cast(node)})",
        exp.Overlay: lambda self, node: self._call("OVERLAY", node),
        exp.Substring: lambda self, node: self._call("SUBSTRING", node),
        exp.StrPosition: lambda self, node: self._position(node),
        exp.Trim: lambda self, node: self._trim(node),
        exp.TableAlias: lambda self, node: self._table_alias(node),
        exp.Values: lambda self, node: self._values(node),
        exp.BitwiseLeftShift: lambda self, node: self.binary(node, "<<"),
        exp.BitwiseRightShift: lambda self, node: self.binary(node, ">>"),
        exp.Anonymous: lambda self, node: self._called(node),
        exp.Concat: lambda self, node: " ".join(map(self.sql, node.expressions)),  # `'a' 'b'`
    }

    def _cast(self, node: exp.Cast) -> str:
        """Write a cast, or a literal with its type, without `CAST`, `AS` and `::`."""
        written = node.to.meta.get(WRITTEN_TYPE)
        kind = written.text if isinstance(written, TypeText) else self.sql(node.to)
        value = self.sql(node.this)
        is_before = isinstance(written, TypeText) and (
            written.start < node.this.meta.get("start", -1)
        )
        return f"{kind} {value}" if is_before else f"{value} {kind}"

    def _call(self, name: str, node: exp.Expr) -> str:
        parts = (self.sql(value) for value in node.args.values() if value)
        return f"{name}({', '.join(parts)})"

    def _position(self, node: exp.StrPosition) -> str:
        parts = (node.args.get(part) for part in ("substr", "this", "position"))
        return f"POSITION({', '.join(self.sql(part) for part in parts if part)})"

    def _trim(self, node: exp.Trim) -> str:
        side, removed = node.text("position"), self.sql(node, "expression")
        between = "," if side or removed else ""
        return f"TRIM({side} {removed} {between} {self.sql(node.this)})"

    def _values(self, node: exp.Values) -> str:
        return f"VALUES {self.expressions(node, flat=True)} {self.sql(node, 'alias')}"

    def _table_alias(self, node: exp.TableAlias) -> str:
        names = self.expressions(node, key="columns", flat=True)
        return f"{self.sql(node, 'this')} {names}"

    def _called(self, node: exp.Anonymous) -> str:
        if node.meta.get(IS_SIGN):
            return f"+ {self.expressions(node, flat=True)}"
        return self.anonymous_sql(node)


_SAME = {
    "==": "=",
    "!=": "<>",
    "MINUS": "EXCEPT",
    "SOME": "ANY",
    "SUBSTR": "SUBSTRING",
    "REGEXP": "RLIKE",
    "DISTRIBUTE BY": "PARTITION BY",  # in a window
    "SORT BY": "ORDER BY",
    **dict.fromkeys(("FROM", "FOR", "PLACING", "IN"), ","),
    **dict.fromkeys(("(", ")", "AS", "NOT", "!", "INNER", "OUTER", "ASC", "ALL", "CAST", "::"), ""),
}
"""Words that the tree does not tell apart, and those that may be missing."""
_LITERALS = frozenset(
    {TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING, TokenType.NATIONAL_STRING}
)
_LITERAL_UNIT = re.compile(r"\s*-?\d+(?:\.\d+)?\s*([A-Z]+)\s*")
"""`INTERVAL '1 day'`, which the parser takes apart."""
_REPLACED = (
    (re.compile(r"\bIS DISTINCT ,"), "<=>"),
    (re.compile(r"\+ INTERVAL "), ""),
    (re.compile(r"\bINTERVAL - "), "INTERVAL "),  # the sign moves into the literal
    (re.compile(r"\b(ROWS|RANGE) BETWEEN ((?:(?!AND).)*) AND CURRENT ROW"), r"\1 \2"),
    (re.compile(r"\b(UNION|EXCEPT|INTERSECT) DISTINCT"), r"\1"),
    (re.compile(r"\bBD "), "DECIMAL , "),  # after a number, whose digits are its precision
    (re.compile(r"(CROSS )?JOIN"), ","),
    (re.compile(r"NULLS (FIRST|LAST) "), ""),
)


def check_written_back(tree: exp.Expr, sql: str) -> None:
    """Refuse a query whose tree does not have its words in their order.

    Raises:
        Refused: the parser has skipped, added or moved a word.
    """
    tokens = list(tokenize(sql))
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    try:
        written = _Writer(dialect=SparkText, comments=False).generate(tree)
        before, after = _words(tokens), _words(tokenize(written))
    except SqlglotError as error:
        raise unsupported(tree, "the query cannot be written back") from error
    if _depth(tokens) != 0:
        raise unsupported(tree, "a parenthesis is missing")
    if tokens[0].token_type is TokenType.FROM:
        before, after = "".join(sorted(before)), "".join(sorted(after))
    if before != after:
        raise unsupported(tree, "the parser reads other words than the query has")


def _depth(tokens: Sequence[Token]) -> int:
    kinds = [token.token_type for token in tokens]
    return kinds.count(TokenType.L_PAREN) - kinds.count(TokenType.R_PAREN)


def _is_number(token: Token | None, start: int) -> bool:
    """Return whether a token is a number that begins at an offset."""
    return token is not None and (token.token_type, token.start) == (TokenType.NUMBER, start)


def _words(tokens: Sequence[Token]) -> str:
    text = "".join(f"{word} " for word in _each(tokens) if word)
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    return text.replace(" ", "")


def _each(tokens: Sequence[Token]) -> Iterator[str]:
    before = ""
    for token, following in zip_longest(tokens, tokens[1:]):
        word = token.text.upper()
        if token.token_type is TokenType.DOT and _is_number(following, token.end + 1):
            yield ""  # `.5`
        elif token.token_type in _LITERALS:
            unit = _LITERAL_UNIT.fullmatch(word) if before == "INTERVAL" else None
            yield unit[1] if unit else ""
        elif token.token_type is TokenType.IDENTIFIER:
            yield word
        else:
            yield _SAME.get(word, word)
        before = word
