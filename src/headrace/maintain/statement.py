"""Parses the SQL statements about a state: text in, a `Statement` out. It reads no tables.

`TANTIVY4SPARK` is a synonym of `INDEXTABLES`, and keywords match in any case. A table is a path in
quotes, or a name: `'s3://bucket/table'`, `` `db`.`events` ``, `db.events`. For text that does not
begin like one of these statements `parse_statement` returns None, and Spark handles it.
"""

import re
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec

from headrace.errors import StatementSyntaxError


class TableName(msgspec.Struct, frozen=True, kw_only=True):
    """A table as named in a statement."""

    text: str
    is_path: bool = True
    """False for a name in a catalog."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`CHECKPOINT INDEXTABLES p`: write a state of the newest version."""

    table: TableName


class Compact(msgspec.Struct, frozen=True, kw_only=True):
    """`COMPACT INDEXTABLES p`: a checkpoint with forced compaction."""

    table: TableName


class DescribeState(msgspec.Struct, frozen=True, kw_only=True):
    """`DESCRIBE INDEXTABLES STATE p`."""

    table: TableName


class DescribeLog(msgspec.Struct, frozen=True, kw_only=True):
    """`DESCRIBE INDEXTABLES TRANSACTION LOG p [INCLUDE ALL]`."""

    table: TableName
    include_all: bool = False


class Purge(msgspec.Struct, frozen=True, kw_only=True):
    """`PURGE INDEXTABLE p [OLDER THAN …] [TRANSACTION LOG RETENTION …] [DRY RUN]`."""

    table: TableName
    older_than_hours: float | None = None
    log_retention_hours: float | None = None
    dry_run: bool = False


class TruncateTimeTravel(msgspec.Struct, frozen=True, kw_only=True):
    """`TRUNCATE INDEXTABLES TIME TRAVEL p [DRY RUN]`."""

    table: TableName
    dry_run: bool = False


class InvalidateCache(msgspec.Struct, frozen=True, kw_only=True):
    """`INVALIDATE INDEXTABLES TRANSACTION LOG CACHE [FOR p]`."""

    table: TableName | None = None


class DropPartitions(msgspec.Struct, frozen=True, kw_only=True):
    """`DROP INDEXTABLES PARTITIONS FROM p WHERE condition`."""

    table: TableName
    where: str


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """`REPAIR INDEXFILES TRANSACTION LOG p AT LOCATION q`."""

    table: TableName
    location: TableName


Statement: TypeAlias = (
    Checkpoint
    | Compact
    | DescribeState
    | DescribeLog
    | Purge
    | TruncateTimeTravel
    | InvalidateCache
    | DropPartitions
    | Repair
)

_PRODUCTS = frozenset({"INDEXTABLES", "INDEXTABLE", "INDEXFILES", "TANTIVY4SPARK"})
"""The product names in statements; all mean the same."""

_VERBS = frozenset(
    {
        *("CHECKPOINT", "COMPACT", "DESCRIBE", "DESC", "PURGE", "TRUNCATE", "INVALIDATE"),
        *("DROP", "REPAIR"),
    }
)
_HOURS = {"HOUR": 1, "HOURS": 1, "DAY": 24, "DAYS": 24}

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<single>'(?:[^'\\]|\\.|'')*')
    | (?P<double>"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>\d+(?:\.\d+)?)(?![A-Za-z_])
    | (?P<word>[^\W\d]\w*|\w+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class _Kind(StrEnum):
    SINGLE = "single"
    DOUBLE = "double"
    QUOTED = "quoted"
    NUMBER = "number"
    WORD = "word"
    SIGN = "sign"


class _Token(NamedTuple):
    kind: _Kind
    text: str
    start: int


def parse_statement(text: str) -> Statement | None:
    """Parse a statement; return None if it is not one of Headrace's.

    Raises:
        StatementSyntaxError: it begins like one of these statements, but continues differently.
    """
    tokens = [
        _Token(_Kind(str(match.lastgroup)), match[0], match.start())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    words = [token.text.upper() for token in tokens[:2] if token.kind is _Kind.WORD]
    if len(words) < 2 or words[0] not in _VERBS or words[1] not in _PRODUCTS:  # noqa: PLR2004
        return None
    return _Parser(text, tokens).statement()


class _Parser:
    """Parses the tokens of one statement in a single pass."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    def statement(self) -> Statement:
        verb = self._tokens[0].text.upper()
        self._at = 2
        parse = {
            "CHECKPOINT": self._checkpoint,
            "COMPACT": self._compact,
            "DESCRIBE": self._describe,
            "DESC": self._describe,
            "PURGE": self._purge,
            "TRUNCATE": self._truncate,
            "INVALIDATE": self._invalidate,
            "DROP": self._drop,
            "REPAIR": self._repair,
        }[verb]
        statement = parse()
        if self._at < len(self._tokens):
            self._refuse("the end of the statement")
        return statement

    def _checkpoint(self) -> Statement:
        return Checkpoint(table=self._table())

    def _compact(self) -> Statement:
        return Compact(table=self._table())

    def _describe(self) -> Statement:
        if self._takes("STATE"):
            return DescribeState(table=self._table())
        self._expect("TRANSACTION", "LOG", instead="STATE or TRANSACTION LOG")
        table = self._table()
        return DescribeLog(table=table, include_all=self._takes("INCLUDE", "ALL"))

    def _purge(self) -> Statement:
        table = self._table()
        older = self._hours() if self._takes("OLDER", "THAN") else None
        retention = self._hours() if self._takes("TRANSACTION", "LOG", "RETENTION") else None
        return Purge(
            table=table,
            older_than_hours=older,
            log_retention_hours=retention,
            dry_run=self._takes("DRY", "RUN"),
        )

    def _truncate(self) -> Statement:
        self._expect("TIME", "TRAVEL")
        table = self._table()
        return TruncateTimeTravel(table=table, dry_run=self._takes("DRY", "RUN"))

    def _invalidate(self) -> Statement:
        self._expect("TRANSACTION", "LOG", "CACHE")
        return InvalidateCache(table=self._table() if self._takes("FOR") else None)

    def _drop(self) -> Statement:
        self._expect("PARTITIONS", "FROM")
        table = self._table()
        self._expect("WHERE")
        if self._at >= len(self._tokens):
            self._refuse("a condition on partition columns")
        last = self._tokens[-1]
        where = self._text[self._tokens[self._at].start : last.start + len(last.text)]
        self._at = len(self._tokens)
        return DropPartitions(table=table, where=where)

    def _repair(self) -> Statement:
        self._expect("TRANSACTION", "LOG")
        table = self._table()
        self._expect("AT", "LOCATION")
        return Repair(table=table, location=self._table())

    def _table(self) -> TableName:
        token = self._next("a table: a path in quotes, or a name")
        if token.kind in {_Kind.SINGLE, _Kind.DOUBLE}:
            path = _unquoted(token.text)
            if not path:
                self._at -= 1
                self._refuse("a path that is not empty")
            return TableName(text=path)
        if token.kind not in {_Kind.WORD, _Kind.QUOTED}:
            self._at -= 1
            self._refuse("a table: a path in quotes, or a name")
        parts = [token.text]
        while self._takes_sign("."):
            part = self._next("the rest of the name")
            if part.kind not in {_Kind.WORD, _Kind.QUOTED}:
                self._at -= 1
                self._refuse("the rest of the name")
            parts.append(part.text)
        return TableName(text=".".join(parts), is_path=False)

    def _hours(self) -> float:
        token = self._next("a number")
        if token.kind is not _Kind.NUMBER:
            self._at -= 1
            self._refuse("a number")
        unit = self._next("DAYS or HOURS")
        if unit.text.upper() not in _HOURS:
            self._at -= 1
            self._refuse("DAYS or HOURS")
        return float(token.text) * _HOURS[unit.text.upper()]

    def _takes(self, *words: str) -> bool:
        """Consume these words if they come next, and return whether they did."""
        ahead = self._tokens[self._at : self._at + len(words)]
        if tuple(token.text.upper() for token in ahead if token.kind is _Kind.WORD) != words:
            return False
        self._at += len(words)
        return True

    def _takes_sign(self, sign: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at].text == sign:
            self._at += 1
            return True
        return False

    def _expect(self, *words: str, instead: str | None = None) -> None:
        if not self._takes(*words):
            self._refuse(instead or " ".join(words))

    def _next(self, expected: str) -> _Token:
        if self._at >= len(self._tokens):
            self._refuse(expected)
        self._at += 1
        return self._tokens[self._at - 1]

    def _refuse(self, expected: str) -> None:
        at_end = self._at >= len(self._tokens)
        position = len(self._text) if at_end else self._tokens[self._at].start
        found_text = "the end" if at_end else repr(self._tokens[self._at].text)
        raise StatementSyntaxError(
            statement=self._text, expected=expected, found=found_text, position=position
        )


def _unquoted(text: str) -> str:
    """Return the value of a SQL string: a doubled or escaped quote is a quote."""
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    return re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL)
