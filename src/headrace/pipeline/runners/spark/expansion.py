"""Rewrites calls of a catalog's functions for Spark.

Spark's grouped-aggregate functions in Python cannot be combined with other aggregates, do not
support FILTER, and return no row for no rows; it has neither window functions nor lateral Arrow
table functions in Python. So a call is rewritten: `spread(x) FILTER (WHERE y) OVER w` becomes
`spread(collect_list(struct(CAST(x AS DOUBLE) AS a0)) FILTER (WHERE y) OVER w)`, and Spark sees one
of its own aggregates and a scalar Arrow function. Arguments are cast by Spark, and named arguments
are put in order. Every other character of the SQL is unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from sqlglot import Token, TokenType, exp

from headrace.pipeline.analysis.query import Query, parse_query
from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.definition import Function, FunctionKind

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


def expand_calls(sql: str, catalog: Catalog, *, file: str) -> str:
    """Return the SQL of a view with calls of the catalog's functions rewritten."""
    query = parse_query(sql, file=file)
    calls = _calls(query, catalog)
    if not calls:
        return sql
    return _Expansion(query, catalog, calls).text(0, len(query.words), 0, len(sql))


def _calls(query: Query, catalog: Catalog) -> dict[int, frozenset[str]]:
    """Return the clauses after each call, by the offset of the call."""
    return {
        node.meta["start"]: frozenset(_clauses(node))
        for node in query.tree.find_all(exp.Anonymous)
        if node.name.casefold() in catalog
        and "start" in node.meta
        and not isinstance(node.parent, exp.Dot)
        and not node.find_ancestor(exp.Hint)
    }


def _clauses(node: exp.Expr) -> Iterator[str]:
    for clause, kind in (("filter", exp.Filter), ("over", exp.Window)):
        if isinstance(node.parent, kind) and node.parent.this is node:
            yield clause
            node = node.parent


class _Argument(msgspec.Struct, frozen=True):
    """The tokens of an argument, and its name if it has one."""

    first: int
    end: int
    name: str | None = None


class _Expansion:
    """Rewrites one query."""

    def __init__(self, query: Query, catalog: Catalog, calls: Mapping[int, frozenset[str]]) -> None:
        self._sql, self._words = query.sql, query.words
        self._catalog, self._calls = catalog, calls

    def text(self, first: int, end: int, start: int, stop: int) -> str:
        """Return the text from offset `start` to `stop`, whose tokens are `first` to `end`."""
        parts, copied, index = [], start, first
        while index < end:
            word = self._words[index]
            if word.start in self._calls:
                call, next_index = self._call(index)
                if call is not None:
                    parts += [self._sql[copied : word.start], call]
                    index, copied = next_index, self._words[next_index - 1].end + 1
                    continue
            index += 1
        return "".join([*parts, self._sql[copied:stop]])

    def _call(self, call_index: int) -> tuple[str | None, int]:
        """Return a rewritten call that starts at a token, and the token after it."""
        words = self._words
        function = self._catalog[words[call_index].text.casefold()]
        close = self._closing_index(call_index + 1)
        arguments = list(self._arguments(call_index + 2, close))
        modifier = ""
        first = call_index + 2
        if first < close and words[first].text.casefold() in {"distinct", "all"}:
            modifier = f"{words[first].text} "
        values = self._values(function, arguments)
        if values is None:  # planning has already reported what is wrong
            return None, call_index
        name = self._sql[words[call_index].start : words[call_index].end + 1]
        after = close + 1
        match function.kind:
            case FunctionKind.SCALAR:
                return f"{name}({', '.join(values)})", after
            case FunctionKind.TABLE:
                return f"inline({name}({', '.join(values) or '0'}))", after
            case FunctionKind.AGGREGATE | FunctionKind.WINDOW:
                row = ", ".join(f"{value} AS a{index}" for index, value in enumerate(values))
                tail, after = self._tail(after, self._calls[words[call_index].start])
                return f"{name}(collect_list({modifier}struct({row})){tail})", after

    def _values(self, function: Function, arguments: Sequence[_Argument]) -> list[str] | None:
        """Return the arguments in the declared order, cast; None if they do not fit."""
        kinds = function.signature.argument_types(len(arguments))
        try:
            positions = function.positions([argument.name for argument in arguments])
        except ValueError:
            return None
        if kinds is None:
            return None
        in_order = sorted(zip(positions, arguments, strict=True), key=lambda pair: pair[0])
        return [
            f"CAST({self._span(argument.first, argument.end)} AS {type_text(kind)})"
            for (_, argument), kind in zip(in_order, kinds, strict=True)
        ]

    def _span(self, first: int, end: int) -> str:
        return self.text(first, end, self._words[first].start, self._words[end - 1].end + 1)

    def _closing_index(self, opening: int) -> int:
        """Return the token that closes the bracket at a token."""
        depth = 0
        for index in range(opening, len(self._words)):
            depth += _depth(self._words[index])
            if depth == 0:
                return index
        raise AssertionError("the text has been parsed: its brackets match")

    def _arguments(self, first: int, close: int) -> Iterator[_Argument]:
        """Return the arguments between the commas of a call."""
        words = self._words
        if first < close and words[first].text.casefold() in {"distinct", "all"}:
            first += 1
        depth, begin = 0, first
        for index in range(first, close + 1):
            is_comma = words[index].token_type is TokenType.COMMA and depth == 0
            if (is_comma or index == close) and begin < index:
                is_named = index - begin > 2 and words[begin + 1].token_type is TokenType.FARROW  # noqa: PLR2004
                if is_named:
                    yield _Argument(begin + 2, index, words[begin].text)
                else:
                    yield _Argument(begin, index)
                begin = index + 1
            depth += _depth(words[index])

    def _tail(self, index: int, clauses: frozenset[str]) -> tuple[str, int]:
        """Return the FILTER and OVER clauses at a token, and the token after them."""
        text = ""
        for clause in ("filter", "over"):
            if clause in clauses:
                is_bracket = self._words[index + 1].token_type is TokenType.L_PAREN
                end = self._closing_index(index + 1) + 1 if is_bracket else index + 2
                text, index = f"{text} {self._span(index, end)}", end
        return text, index


def _depth(word: Token) -> int:
    return (word.token_type in _OPENING) - (word.token_type in _CLOSING)
