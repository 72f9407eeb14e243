"""Parse SQL text into the parser's tree, and reject text that is not one condition on a row."""

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

TOO_DEEP = "it is nested too deeply"
_MAX_BRACKETS = 32
_OPENING = frozenset((TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE))
_CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE))
_REFUSED: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Command,), "it is not a condition"),
    ((exp.Query, exp.Values), "it must not contain a subquery"),
    ((exp.AggFunc, exp.Window), "it must not contain an aggregate"),
    ((exp.UDTF,), "it must not contain a function that generates rows"),
    ((exp.Placeholder, exp.Parameter), "its parameters must be filled in first"),
    ((exp.Star,), "it must not contain a star"),
)


def parse_tree(text: str) -> exp.Expr:
    """Parse one condition.

    Raises:
        ValueError: the text is not a condition; the message is the reason.
        SqlglotError, RecursionError: the parser cannot read it.
    """
    dialect = Spark()
    tokens = _checked_tokens(text, dialect.tokenize(text))
    try:
        tree = dialect.parser().parse_into(exp.Condition, tokens, text)[0] if tokens else None
    except (SqlglotError, RecursionError):
        raise
    except Exception as error:  # the parser has no single error type for invalid input
        raise ValueError("it is not SQL") from error
    if tree is None:
        raise ValueError("it is empty")
    for reason in filter(None, map(_refusal, tree.walk())):
        raise ValueError(reason)
    return tree


def _refusal(node: exp.Expr) -> str | None:
    """Return why a node is not allowed in a condition on a row; None if it is."""
    return next((reason for kinds, reason in _REFUSED if isinstance(node, kinds)), None)


def _checked_tokens(text: str, tokens: list[Token]) -> list[Token]:
    """Reject tokens that the parser would accept or crash on, and join doubled quotes."""
    text.encode()  # raises for a lone surrogate
    checked: list[Token] = []
    open_brackets = 0
    for token in tokens:
        open_brackets += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if open_brackets > _MAX_BRACKETS:
            raise ValueError(TOO_DEEP)
        if token.token_type is TokenType.SEMICOLON:
            raise ValueError("it must not contain a semicolon")
        if token.token_type is TokenType.HEX_STRING and text[token.start] == "0":
            raise ValueError(f"0x{token.text} is not a Spark literal: write X'{token.text}'")
        if checked and _doubles_quote(text, checked[-1], token):
            first, quote = checked.pop(), text[token.start]
            joined = f"{first.text}{quote}{token.text}"
            token = Token(  # noqa: PLW2901 - the joined token takes the place of both
                TokenType.STRING, joined, token.line, token.col, first.start, token.end
            )
        checked.append(token)
    return checked


def _doubles_quote(text: str, first: Token, second: Token) -> bool:
    """Whether two string tokens are one string with a doubled (escaped) quote."""
    return (
        first.token_type is TokenType.STRING
        and second.token_type is TokenType.STRING
        and first.end + 1 == second.start
        and text[first.end] == text[second.start]
    )
