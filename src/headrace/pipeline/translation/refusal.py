"""Refusals: why a query is not translated, because it is wrong or because only Spark can run it.

A syntax node and a reason enter; a `Refused` leaves, which the caller raises. It carries a
`Refusal` with the position of the node in the text and the nearest known name.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

import msgspec
from sqlglot import exp

from headrace.pipeline.translation.syntax import line_and_column


class Blame(StrEnum):
    """Who has to act on a refusal."""

    AUTHOR = "author"
    """The query is wrong: neither runner can run it."""
    RUNNER = "runner"
    """The query runs on Spark; the catalogue has no proven translation of it."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """What cannot be translated, and where it is."""

    reason: str
    expression: str
    blame: Blame
    start: int | None = None
    """The offset of the expression in the text of the query."""
    similar: str | None = None
    """The nearest known name, if a name is unknown."""

    def place(self, sql: str) -> tuple[int, int] | None:
        """Return the line and the column, both from 1."""
        return None if self.start is None else line_and_column(sql, self.start)

    def __str__(self) -> str:
        hint = f"; did you mean {self.similar}?" if self.similar else ""
        return f"{self.expression}: {self.reason}{hint}"


class Refused(Exception):  # noqa: N818  (an answer, not a fault)
    """A query is not translated."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


_LONGEST = 120


def unsupported(node: exp.Expr, reason: str) -> Refused:
    """Return the refusal of an expression that only Spark can run."""
    return Refused(_refusal(node, reason, Blame.RUNNER, None))


def wrong(node: exp.Expr, reason: str, similar: str | None = None) -> Refused:
    """Return the refusal of an expression that is wrong on every runner."""
    return Refused(_refusal(node, reason, Blame.AUTHOR, similar))


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to an unknown one.

    Args:
        name: The unknown name.
        known: The known names.
        cutoff: The least similarity, from 0 to 1; None is returned if no name reaches it.
    """
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def _refusal(node: exp.Expr, reason: str, blame: Blame, similar: str | None) -> Refusal:
    text = " ".join(node.sql(dialect="spark", comments=False).split())
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return Refusal(
        reason=reason,
        expression=shown,
        blame=blame,
        start=min(starts, default=None),
        similar=similar,
    )
