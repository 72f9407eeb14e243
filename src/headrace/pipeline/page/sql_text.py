"""Highlights the keywords, strings, numbers and comments of a query."""

from xml.etree.ElementTree import Element

from sqlglot import TokenType, tokenize
from sqlglot.errors import TokenError

from headrace.pipeline.page.element import Child, element

_CLASSES = {TokenType.STRING: "text", TokenType.NUMBER: "number"}
_PLAIN = {TokenType.VAR, TokenType.IDENTIFIER}


def sql_element(sql: str) -> Element:
    """Return the query in a `pre` element; one that cannot be tokenized is not highlighted."""
    return element("pre", *_highlighted(sql), class_="sql")


def _highlighted(sql: str) -> list[Child]:
    try:
        tokens = tokenize(sql, read="spark")
    except TokenError:
        return [sql]
    parts: list[Child] = []
    end = 0
    for token in tokens:
        parts += _space_or_comment(sql[end : token.start])
        end = token.end + 1
        text = sql[token.start : end]
        look = _CLASSES.get(token.token_type)
        if look is None and text[:1].isalpha() and token.token_type not in _PLAIN:
            look = "keyword"
        parts.append(text if look is None else element("span", text, class_=look))
    return [*parts, *_space_or_comment(sql[end:])]


def _space_or_comment(text: str) -> list[Child]:
    """Return the text between two tokens: plain if it is blank, else marked as a comment."""
    return [text] if not text.strip() else [element("span", text, class_="comment")]
