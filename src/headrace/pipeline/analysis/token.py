"""Canonical tokens of a query: the parts of its text that can change its result.

Comments and layout are dropped, and so is the case of keywords and function names. Everything else
stays as written: literals exactly, and the case of names, since a name may become a column name.
Where a word may not be a keyword, its case is kept too; at worst, a view runs once more than
necessary.
"""

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

_T = TokenType
_NAMES = frozenset({_T.IDENTIFIER})
_LITERALS = frozenset(
    {
        *(_T.STRING, _T.NUMBER, _T.HEX_STRING, _T.BIT_STRING, _T.RAW_STRING),
        *(_T.NATIONAL_STRING, _T.BYTE_STRING, _T.UNICODE_STRING, _T.HEREDOC_STRING),
    }
)
_KEYWORDS = frozenset(
    kind
    for kind in (
        *(_T.SELECT, _T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.ORDER_BY, _T.LIMIT, _T.OFFSET),
        *(_T.JOIN, _T.INNER, _T.LEFT, _T.RIGHT, _T.FULL, _T.OUTER, _T.CROSS, _T.SEMI, _T.ANTI),
        *(_T.ON, _T.USING, _T.NATURAL, _T.AND, _T.OR, _T.NOT, _T.IN, _T.IS, _T.NULL, _T.LIKE),
        *(_T.BETWEEN, _T.EXISTS, _T.CASE, _T.WHEN, _T.THEN, _T.ELSE, _T.END, _T.ALIAS),
        *(_T.UNION, _T.EXCEPT, _T.INTERSECT, _T.ALL, _T.DISTINCT, _T.WITH, _T.OVER),
        *(_T.PARTITION_BY, _T.ASC, _T.DESC, _T.TRUE, _T.FALSE, _T.INTERVAL, _T.LATERAL),
        *(_T.QUALIFY, _T.VALUES, _T.ROWS, _T.RANGE, _T.WINDOW, _T.FILTER, _T.RLIKE, _T.DIV),
    )
)
_COMPLETE = frozenset({_T.NULL, _T.TRUE, _T.FALSE, _T.END, _T.ASC, _T.DESC, _T.ALL, _T.DISTINCT})
"""The keywords that may end an item of a list. Any other that does is the name of a column."""
_SORTS = frozenset({_T.ORDER_BY, _T.SORT_BY, _T.CLUSTER_BY, _T.DISTRIBUTE_BY})
_AFTER_AN_ITEM = frozenset({_T.COMMA, _T.FROM, _T.R_PAREN, None})
_BEFORE_A_NAME = frozenset({_T.ALIAS, _T.DOT})
_TYPED_LITERALS = frozenset({_T.DATE, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPNTZ, _T.INTERVAL})
_CASTS = frozenset({"cast", "try_cast"})
_PAIRS = frozenset(
    {
        *(("nulls", "first"), ("nulls", "last"), ("current", "row")),
        *(("unbounded", "preceding"), ("unbounded", "following")),
    }
)
"""Words that are keywords only next to each other."""
_FRAME_ENDS = frozenset({"preceding", "following"})


def canonical_tokens(sql: str, words: Sequence[Token]) -> tuple[str, ...]:
    """Return the tokens of a query, case-folded where that cannot change its result."""
    in_type = _type_positions(words)
    return tuple(_fold(sql, words, place, is_type=place in in_type) for place in range(len(words)))


def _fold(sql: str, words: Sequence[Token], place: int, *, is_type: bool) -> str:
    word = words[place]
    kind = word.token_type
    before = words[place - 1].token_type if place else None
    after = words[place + 1].token_type if place + 1 < len(words) else None
    if kind in _LITERALS or kind in _NAMES:
        return sql[word.start : word.end + 1]
    folded = " ".join(word.text.casefold().split())
    if is_type or after is _T.L_PAREN:
        return folded
    if before in _BEFORE_A_NAME or after is _T.DOT:
        return word.text
    if kind in _KEYWORDS and (
        after not in _AFTER_AN_ITEM or (kind in _COMPLETE and not _is_alias(words, place))
    ):
        return folded
    if kind in _TYPED_LITERALS and after is _T.STRING:
        return folded
    return folded if _is_keyword_here(words, place, folded) else word.text


def _is_alias(words: Sequence[Token], place: int) -> bool:
    """Return whether a keyword at the end of an item may be its name, as in `SELECT x End`."""
    match words[place].token_type:
        case _T.END:
            kinds = [word.token_type for word in words[:place]]
            return kinds.count(_T.CASE) <= kinds.count(_T.END)
        case _T.ASC | _T.DESC:
            return not _is_sorted(words, place)
        case _:
            return place > 0 and _ends_a_value(words[place - 1])


def _ends_a_value(word: Token) -> bool:
    is_constant = word.token_type in {_T.NULL, _T.TRUE, _T.FALSE, _T.END, _T.STRING}
    is_name = word.token_type not in _KEYWORDS and word.text[-1:].isalnum()
    return is_constant or is_name or word.token_type in {_T.IDENTIFIER, _T.R_PAREN, _T.R_BRACKET}


def _is_sorted(words: Sequence[Token], place: int) -> bool:
    """Return whether a place is in the list of a sort, not among the columns of a SELECT."""
    depth = 0
    for word in reversed(words[:place]):
        depth += (word.token_type is _T.R_PAREN) - (word.token_type is _T.L_PAREN)
        if depth < 0:
            return False
        if depth == 0 and word.token_type in _SORTS:
            return True
        if depth == 0 and word.token_type is _T.SELECT:
            return False
    return False


def _is_keyword_here(words: Sequence[Token], place: int, folded: str) -> bool:
    before = words[place - 1].text.casefold() if place else ""
    after = words[place + 1].text.casefold() if place + 1 < len(words) else ""
    if (before, folded) in _PAIRS or (folded, after) in _PAIRS:
        return True
    if folded in _FRAME_ENDS and place and words[place - 1].token_type is _T.NUMBER:
        return True
    if place > 1 and words[place - 2].token_type is _T.INTERVAL:  # the unit of an interval
        return words[place - 1].token_type is not _T.COMMA
    return False


def _type_positions(words: Sequence[Token]) -> frozenset[int]:
    """Return the positions of types: after the AS of a cast, or after `::`."""
    return frozenset(_types(words))


def _types(words: Sequence[Token]) -> Iterator[int]:
    casts: list[int] = []  # the bracket depth of each open cast
    depth, after_as = 0, False
    members = 0  # open `<` count: member names may become column names
    for place, word in enumerate(words):
        kind = word.token_type
        if after_as and kind in {_T.LT, _T.GT}:
            members += 1 if kind is _T.LT else -1
        if kind is _T.L_PAREN:
            depth += 1
            if place and words[place - 1].text.casefold() in _CASTS:
                casts.append(depth)
        elif kind is _T.R_PAREN:
            if casts and casts[-1] == depth:
                casts.pop()
                after_as, members = False, 0
            depth -= 1
        elif kind is _T.ALIAS and casts and casts[-1] == depth:
            after_as = True
        elif (after_as and not members) or (place and words[place - 1].token_type is _T.DCOLON):
            yield place
