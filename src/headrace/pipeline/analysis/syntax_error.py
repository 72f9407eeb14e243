"""Explains what is wrong with a text that the parser cannot read, and where.

The text, its tokens and the parser's error enter; an `InvalidViewError` with line and column
leaves.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headrace.errors import InvalidViewError
from headrace.pipeline.functions.builtin import spark_signatures
from headrace.pipeline.translation.refusal import Refusal, wrong
from headrace.pipeline.translation.syntax import line_and_column, parse_calls

_WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "UNION"),
    *("INTERSECT", "EXCEPT", "WITH", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS"),
    *("LATERAL", "VIEW", "USING", "DISTINCT", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE"),
    *("OVER", "PARTITION", "VALUES", "EXISTS", "INTERVAL", "CAST", "WINDOW", "NULLS", "AND"),
    *("BIGINT", "INT", "SMALLINT", "TINYINT", "BOOLEAN", "STRING", "BINARY", "DECIMAL", "DOUBLE"),
    *("FLOAT", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "ARRAY", "MAP", "STRUCT"),
)
_MIN_SIMILARITY = 0.75
_WITH_FORMS = frozenset({"if", "overlay", "position", "substr", "substring", "trim"})
"""Functions that also have a form of their own, which the parser expects where the number of
arguments is wrong."""
_WORDS_OF_FORMS = frozenset({"BOTH", "FOR", "FROM", "IN", "LEADING", "PLACING", "TRAILING"})
_TOKEN = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: \d+, col: .*?>", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


def syntax_error(
    sql: str, words: Sequence[Token], error: ParseError, *, file: str
) -> InvalidViewError:
    """Return the error for a text that the parser cannot read, at the probable culprit."""
    details: dict[str, Any] = error.errors[0] if error.errors else {}
    description = _TOKEN.sub(r"\1", str(details.get("description") or error)).rstrip(".")
    line, column = details.get("line"), details.get("col")
    hint = ""
    if line is not None and column is not None:
        # The parser reports the end of a word.
        places = [i for i, word in enumerate(words) if (word.line, word.col) == (line, column)]
        column = max(1, column - len(details.get("highlight") or "") + 1)
        near = [words[i] for place in places for i in (place, place - 1) if i >= 0] + [*words[:1]]
        for word in near:
            close = get_close_matches(word.text.upper(), _WORDS, n=1, cutoff=_MIN_SIMILARITY)
            if close and close[0] != word.text.upper():
                hint = f"; did you mean {close[0]}?"
                line, column = line_and_column(sql, word.start)
                break
    reason = (
        f"it is not Spark SQL that the planner can parse: {description}{hint} (a query that only "
        "Spark can parse can be a view in Python: spark.sql(...))"
    )
    return InvalidViewError(file=file, line=line, column=column, reason=reason)


def check_counts(sql: str, words: Sequence[Token], *, file: str) -> None:
    """Report a function with a wrong number of arguments, if that is why parsing failed.

    Raises:
        InvalidViewError: there is such a function.
    """
    for place, word in enumerate(words):
        name = word.text.casefold()
        count = _arguments_after(words[place + 1 :]) if name in _WITH_FORMS else None
        if count is not None and not spark_signatures()[name].takes(count):
            line, column = line_and_column(sql, word.start)
            reason = f"{name}(...): it takes {spark_signatures()[name].arity}, not {count}"
            raise InvalidViewError(file=file, line=line, column=column, reason=reason)
    try:
        tree = parse_calls(sql)
    except SqlglotError:
        return
    for call in tree.find_all(exp.Anonymous):
        signature = spark_signatures().get(call.name.casefold())
        if signature is not None and not signature.takes(len(call.expressions)):
            reason = f"it takes {signature.arity}, not {len(call.expressions)}"
            raise invalid(wrong(call, reason).refusal, sql, file=file)


def _arguments_after(words: Sequence[Token]) -> int | None:
    """Return the number of arguments in parentheses; None if words of a form are between them."""
    depth = commas = 0
    for place, word in enumerate(words):
        match word.token_type:
            case TokenType.L_PAREN | TokenType.L_BRACKET:
                depth += 1
            case TokenType.R_PAREN | TokenType.R_BRACKET:
                depth -= 1
            case TokenType.COMMA:
                commas += depth == 1
        if depth == 0:
            return None if place == 0 else commas + (place > 1)
        if depth == 1 and word.text.upper() in _WORDS_OF_FORMS:
            return None
    return None


def check_commas(sql: str, words: Sequence[Token], *, file: str) -> None:
    """Reject a trailing comma, which the parser ignores and Spark does not.

    Raises:
        InvalidViewError: there is one.
    """
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.token_type is TokenType.COMMA and (
            following is None or following.token_type in {TokenType.FROM, TokenType.R_PAREN}
        ):
            line, column = line_and_column(sql, word.start)
            reason = "nothing follows this comma"
            raise InvalidViewError(file=file, line=line, column=column, reason=reason)


def check_comments(sql: str, words: Sequence[Token], *, file: str) -> None:
    """Reject a comment that only Spark continues on the next line.

    Raises:
        InvalidViewError: a comment that begins with `--` ends in a backslash.
    """
    if "\\\n" not in sql:
        return
    ends = [0, *(word.end + 1 for word in words)]
    starts = [*(word.start for word in words), len(sql)]
    for end, start in zip(ends, starts, strict=True):
        for comment in _COMMENT.finditer(sql, end, start):
            if comment[0].startswith("--") and comment[0].endswith("\\"):
                line, column = line_and_column(sql, comment.start())
                reason = (
                    "this comment ends in a backslash, so Spark treats the next line as part of "
                    "it; remove the backslash"
                )
                raise InvalidViewError(file=file, line=line, column=column, reason=reason)


def invalid(refusal: Refusal, sql: str, *, file: str) -> InvalidViewError:
    """Return the error for something that is wrong on every runner."""
    line, column = refusal.place(sql) or (None, None)
    return InvalidViewError(file=file, line=line, column=column, reason=str(refusal))
