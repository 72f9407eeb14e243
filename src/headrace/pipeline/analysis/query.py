"""Parses a view's text into a syntax tree, and answers what the text alone shows.

The text is Spark SQL; it is only read here, never changed: Spark runs what the author wrote. The
parser is sqlglot's, in a dialect that supports Spark's doubled quotes.
"""

from collections.abc import Iterator
from functools import cached_property

import msgspec
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headrace.errors import InvalidViewError
from headrace.pipeline.analysis.depth import deep_nesting
from headrace.pipeline.analysis.syntax_error import (
    check_commas,
    check_comments,
    check_counts,
    syntax_error,
)
from headrace.pipeline.analysis.token import canonical_tokens
from headrace.pipeline.translation.syntax import SparkText, line_and_column, tokenize


class Query(msgspec.Struct, frozen=True, dict=True):
    """One query of a view."""

    sql: str
    tree: exp.Query
    words: tuple[Token, ...]

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Return the canonical tokens: comments and the case of keywords are ignored."""
        return canonical_tokens(self.sql, self.words)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """Return the tables and views that it reads, in lower case, sorted."""
        return tuple(sorted({_relation_name(table) for table in self._tables()}))

    @cached_property
    def calls(self) -> frozenset[str]:
        """Return the names of all functions that it calls, in lower case."""
        named = (TokenType.VAR, TokenType.IDENTIFIER)
        following = zip(self.words, self.words[1:], strict=False)
        return frozenset(
            word.text.casefold()
            for word, after in following
            if after.token_type is TokenType.L_PAREN
            and (word.token_type in named or word.text.isidentifier())
        )

    @cached_property
    def unknown_calls(self) -> tuple[str, ...]:
        """Return the functions that the parser does not know, in lower case, sorted."""
        calls = self.tree.find_all(exp.Anonymous)
        named = {call.name.casefold() for call in calls if not call.find_ancestor(exp.Hint)}
        return tuple(sorted(named))

    def place_of(self, name: str) -> str | None:
        """Return where a function or relation is first named: `line 3 column 8`."""
        starts = [word.start for word in self.words if word.text.casefold() == name]
        if not starts:
            return None
        line, column = line_and_column(self.sql, starts[0])
        return f"line {line} column {column}"

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Return the variables (`:name`) that it uses, sorted."""
        return tuple(sorted({node.name for node in self.tree.find_all(exp.Placeholder)}))

    def variable_place(self, name: str) -> tuple[int, int]:
        """Return the line and column at which a variable is first used, both from 1."""
        start = next(
            before.start
            for before, word in zip(self.words, self.words[1:], strict=False)
            if before.token_type is TokenType.COLON and word.text == name
        )
        return line_and_column(self.sql, start)

    def _tables(self) -> Iterator[exp.Table]:
        for table in self.tree.find_all(exp.Table):
            is_real = isinstance(table.this, exp.Identifier) and not table.find_ancestor(exp.Hint)
            if is_real and not _is_cte(table):
                yield table


def parse_query(sql: str, *, file: str) -> Query:
    """Parse a view's text, which must be a single query.

    Raises:
        InvalidViewError: it is not one Spark SQL query; with the line, where known.
    """
    words: tuple[Token, ...] = ()
    try:
        words = tokenize(sql)
        with deep_nesting():
            parsed = SparkText().parser().parse(list(words), sql)
        trees = [tree for tree in parsed if tree is not None]
    except ParseError as error:
        check_counts(sql, words, file=file)
        raise syntax_error(sql, words, error, file=file) from error
    except (SqlglotError, RecursionError, ValueError) as error:  # sqlglot raises bare ones, too
        check_counts(sql, words, file=file)
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidViewError(file=file, line=None, reason=reason) from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query) or not trees[0].selects:
        reason = "a view is one query: SELECT, WITH ... SELECT, or a UNION of such"
        raise InvalidViewError(file=file, line=None, reason=reason)
    check_commas(sql, words, file=file)
    check_comments(sql, words, file=file)
    for travel in trees[0].find_all(exp.Version):
        reason = f"{travel.sql(dialect='spark')}: versions are pinned in headrace.toml, not in SQL"
        raise InvalidViewError(file=file, line=None, reason=reason)
    return Query(sql, trees[0], tuple(word for word in words if word.token_type is not _SEMICOLON))


_SEMICOLON = TokenType.SEMICOLON


def _relation_name(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts).casefold()


def _is_cte(table: exp.Table) -> bool:
    """Return whether a name refers to a query of an enclosing WITH, not to a table."""
    if table.args.get("db"):
        return False
    name = table.name.casefold()
    inner: exp.Expr = table
    node = table.parent
    while node is not None:
        clause = node.args.get("with_")
        if isinstance(clause, exp.With) and inner is not clause:
            if any(cte.alias.casefold() == name for cte in clause.expressions):
                return True
        elif isinstance(node, exp.With):
            place = next(i for i, cte in enumerate(node.expressions) if cte is inner)
            visible = node.expressions[: place + 1 if node.recursive else place]
            if any(cte.alias.casefold() == name for cte in visible):
                return True
        inner, node = node, node.parent
    return False
