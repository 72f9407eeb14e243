"""Parses Spark SQL into a tree in which every function keeps the name that the author wrote.

sqlglot turns known functions into its own nodes, which lose the spelling used in Spark. Here a call
stays a call; only forms with their own syntax become nodes.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.parsers.spark import SparkParser

_SPECIAL_SYNTAX = frozenset(
    {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "SUBSTR", "OVERLAY"}
)
_BOUNDED_TEXT = frozenset({exp.DataType.Type.CHAR, exp.DataType.Type.VARCHAR})
WRITTEN_TYPE = "written_type"
"""The key of a type's `TypeText` in the metadata of its node."""

IS_SIGN = "is_sign"
"""The key in the metadata of a call of `positive` that is written `+`."""


class TypeText(NamedTuple):
    """A type as the author wrote it."""

    text: str
    """Its tokens, without blanks."""
    start: int


class SparkText(Spark):
    """Spark's dialect, in which a doubled quote inside a string means one quote."""

    class Tokenizer(Spark.Tokenizer):
        """Splits a text into tokens."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  (sqlglot reads it off the class)

    class Parser(SparkParser):
        """Distinguishes CAST from TRY_CAST, and takes the arguments that Spark's functions take."""

        STRICT_CAST = True
        COLON_IS_VARIANT_EXTRACT = True
        COLON_CHAIN_IS_SINGLE_EXTRACT = False
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            **SparkParser.FUNCTIONS,
            "ANY_VALUE": lambda args: _with_ignored_nulls(exp.AnyValue, args),
            "FIRST_VALUE": lambda args: _with_ignored_nulls(exp.FirstValue, args),
            "LAST_VALUE": lambda args: _with_ignored_nulls(exp.LastValue, args),
            "SHUFFLE": lambda args: exp.Anonymous(this="shuffle", expressions=args),
        }

        def _parse_types(
            self,
            check_func: bool = False,  # noqa: FBT001, FBT002  (sqlglot's signature)
            schema: bool = False,  # noqa: FBT001, FBT002
            allow_identifiers: bool = True,  # noqa: FBT001, FBT002
            with_collation: bool = False,  # noqa: FBT001, FBT002
        ) -> exp.Expr | None:
            """Parse a type; CHAR and VARCHAR are STRING outside of schemas.

            sqlglot's own implementation parses two type names for each type. It also takes names
            of other databases, so the text of each type is kept for a check.
            """
            first = self._index
            parsed = Parser._parse_types(  # noqa: SLF001  (what Hive's parser builds on)
                self, check_func, schema, allow_identifiers, with_collation
            )
            if isinstance(parsed, exp.DataType):
                tokens = self._tokens[first : self._index]
                written = "".join(
                    f"`{token.text}`" if token.token_type is TokenType.IDENTIFIER else token.text
                    for token in tokens
                )
                parsed.meta[WRITTEN_TYPE] = TypeText(written, self._tokens[first].start)
            if parsed is not None and not schema:
                for node in parsed.find_all(exp.DataType):
                    if node.this in _BOUNDED_TEXT:
                        node.set("this", exp.DataType.Type.TEXT)
                        node.set("expressions", None)
            return parsed


def _with_ignored_nulls(kind: type[exp.Func], arguments: list[exp.Expr]) -> exp.Expr:
    """Parse `first_value(x, true)`, which sqlglot only knows as `first_value(x) IGNORE NULLS`."""
    if len(arguments) == 2 and isinstance(arguments[1], exp.Boolean):  # noqa: PLR2004
        value = kind(this=arguments[0])
        return exp.IgnoreNulls(this=value) if arguments[1].this else value
    return kind.from_arg_list(arguments)


def _with_sign(operand: exp.Expr | None) -> exp.Expr:
    if operand is None:
        raise ParseError("nothing follows the sign")
    call = exp.Anonymous(this="positive", expressions=[operand])
    call.meta[IS_SIGN] = True
    return call


class _CallText(SparkText):
    """The same dialect without functions."""

    class Parser(SparkText.Parser):
        """Knows no functions."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        UNARY_PARSERS = {  # noqa: RUF012
            **SparkParser.UNARY_PARSERS,
            # sqlglot drops it, but next to a decimal `+2` is not a literal.
            TokenType.PLUS: lambda self: _with_sign(self._parse_unary()),
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name in _SPECIAL_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name != "TRANSFORM"
        }

        def _parse_csv(
            self,
            parse_method: Callable[[], Any],
            sep: TokenType = TokenType.COMMA,
        ) -> list[Any]:
            """Refuse a separator without an item after it, which sqlglot drops."""
            items = super()._parse_csv(parse_method, sep)
            if items and self._prev.token_type is sep:
                self.raise_error("nothing follows the comma", self._prev)
            return items

        def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query | None:
            """Refuse pipes: sqlglot rewrites them by rules that are not Spark's."""
            del query
            self.raise_error("the catalogue has no pipes (|>)")
            return None


def parse_calls(sql: str) -> exp.Expr:
    """Parse a query that is already known to be valid."""
    tokens = tokenize(sql)
    parser = _CallText().parser()
    for place, token in enumerate(tokens):
        reason = _why_rejected(sql, tokens, place)
        if reason is not None:
            parser.raise_error(reason, token)
    trees = parser.parse(list(tokens), sql)
    tree = next((tree for tree in trees if tree is not None), None)
    if tree is None:
        raise ParseError("there is no query")
    if "any" in sql.casefold():
        for node in list(tree.find_all(exp.Any)):
            _restore_any(node)
    return tree


_WORDS = {
    "EXTRACT": {"FROM"},
    "TRIM": {"", ",", "FROM", "BOTH FROM", "LEADING FROM", "TRAILING FROM"},
    "SUBSTRING": {",", ", ,", "FROM", "FROM FOR"},
    "SUBSTR": {",", ", ,", "FROM", "FROM FOR"},
    "OVERLAY": {", ,", ", , ,", "PLACING FROM", "PLACING FROM FOR"},
    "POSITION": {",", ", ,", "IN"},
}
"""What may stand between the arguments of functions with their own syntax."""
_SEPARATORS = frozenset(
    {",", *(word for forms in _WORDS.values() for f in forms for word in f.split())}
)
_IN_SELECT = [TokenType.IN, TokenType.L_PAREN, TokenType.SELECT, TokenType.STRING]
_BEFORE_NO_ALIAS = frozenset(
    {None, TokenType.SELECT, TokenType.WITH, TokenType.COMMA, TokenType.L_PAREN, TokenType.ALIAS}
)
_AFTER_NO_ALIAS = frozenset({None, TokenType.R_PAREN, TokenType.COMMA, TokenType.FROM})
_COMPARISONS = frozenset(
    {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
    | {TokenType.NULLSAFE_EQ}
)
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def _why_rejected(sql: str, tokens: Sequence[Token], place: int) -> str | None:
    """Return why Spark rejects what begins at a token, if the parser accepts it nevertheless."""
    first, after = tokens[place], tokens[place + 1 : place + 3]
    is_call = len(after) > 0 and after[0].token_type is TokenType.L_PAREN
    reason = _why_misplaced(sql, tokens, place)
    if reason is not None:
        return reason
    if first.token_type is TokenType.HEX_STRING and sql[first.start] == "0":
        return "Spark has no hexadecimal numbers"
    if first.token_type in {TokenType.ISNULL, TokenType.NOTNULL} and not is_call:
        return f"Spark has no {first.text} after a value"
    kinds = [token.token_type for token in tokens[place : place + 5]]
    if kinds[:4] == _IN_SELECT and kinds[4:] in ([TokenType.R_PAREN], [TokenType.COMMA]):
        return "Spark reads SELECT before a string here as the name of a type"
    if kinds[:1] == [TokenType.IS]:
        after_test = kinds[3:4] if kinds[1:2] == [TokenType.NOT] else kinds[2:3]
        if after_test and after_test[0] in _COMPARISONS:
            return "Spark compares no IS without parentheses"
    forms = _WORDS.get(first.text.upper()) if is_call else None
    if forms is None or first.token_type is TokenType.IDENTIFIER:
        return None
    is_text = after[-1].token_type is TokenType.STRING
    if _separators(tokens[place + 2 :]) not in forms or (
        first.text.upper() == "EXTRACT" and is_text
    ):
        return f"Spark has no such form of {first.text}"
    return None


def _why_misplaced(sql: str, tokens: Sequence[Token], place: int) -> str | None:
    """Return why a hint, an AS or a question mark cannot stand at a place."""
    first = tokens[place]
    before = tokens[place - 1].token_type if place else None
    after = tokens[place + 1].token_type if place + 1 < len(tokens) else None
    gap = sql[tokens[place - 1].end + 1 : first.start] if place else ""
    gap += sql[first.end + 1 :] if after is None else ""
    is_hint = first.token_type is TokenType.HINT
    if (before is not TokenType.SELECT) if is_hint else ("/*+" in gap):
        return "Spark takes a hint only after SELECT"
    if first.token_type is TokenType.PLACEHOLDER and first.text == "?":
        return "there is no value for ?"
    is_alone = before in _BEFORE_NO_ALIAS or after in _AFTER_NO_ALIAS
    if first.token_type is TokenType.ALIAS and is_alone:
        return "AS takes an expression before it and a name after it"
    return None


def _separators(tokens: Sequence[Token]) -> str:
    """Return the commas and keywords between the arguments of a call."""
    depth, words = 0, []
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth < 0:
            break
        word = "," if token.token_type is TokenType.COMMA else token.text.upper()
        is_name = token.token_type in {TokenType.STRING, TokenType.IDENTIFIER}
        if depth == 0 and word in _SEPARATORS and not is_name:
            words.append(word)
    return " ".join(words)


def _restore_any(node: exp.Any) -> None:
    """Restore the aggregate `any(x)` where the parser has read a quantifier."""
    if isinstance(node.this, exp.Paren) and not isinstance(node.parent, exp.Binary):
        node.replace(exp.Anonymous(this="any", expressions=[node.this.this]))


@lru_cache(maxsize=1024)
def tokenize(sql: str) -> tuple[Token, ...]:
    """Split a query into tokens, once for both parsers; all views are parsed before the first plan.

    It corrects two differences between sqlglot and Spark: in Spark, a blank may separate the X of a
    binary literal from its digits, and in `window(...)` the word names a function.
    """
    tokens: list[Token] = []
    for token in SparkText().tokenize(sql):
        if tokens and _is_binary(tokens[-1], token):
            mark = tokens.pop()
            tokens.append(_retyped(token, TokenType.HEX_STRING, start=mark.start))
        else:
            if tokens and _is_window_call(tokens[-1], token):
                tokens[-1] = _retyped(tokens[-1], TokenType.VAR)
            tokens.append(token)
    return tuple(tokens)


def _is_binary(before: Token, token: Token) -> bool:
    is_mark = before.token_type is TokenType.VAR and before.text in {"X", "x"}
    return is_mark and token.token_type is TokenType.STRING


def _is_window_call(before: Token, token: Token) -> bool:
    return before.token_type is TokenType.WINDOW and token.token_type is TokenType.L_PAREN


def _retyped(token: Token, kind: TokenType, *, start: int | None = None) -> Token:
    first = token.start if start is None else start
    return Token(kind, token.text, token.line, token.col, first, token.end, token.comments)


def line_and_column(sql: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset in a text, both from 1."""
    before = sql[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)|''", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def string_value(written: str) -> str:
    """Return the value of a string literal, written with its quotes, as Spark reads it."""
    quote = written[0]
    inner = written[1:-1]

    def unescaped(match: re.Match[str]) -> str:
        code = match[1]
        if code is None:
            return quote if quote == "'" else match[0]
        if code[0] in "uU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if len(code) == 3:  # noqa: PLR2004
            return chr(int(code, 8))
        if code in "%_":
            return f"\\{code}"
        return _ESCAPED.get(code, code)

    if quote == '"':
        inner = inner.replace('""', '"')
    return _ESCAPE.sub(unescaped, inner)
