"""The header of a view: what its leading comments say about it.

    -- @description Revenue of each customer and day.
    -- @materialise output
    -- @write merge
    -- @keys customer, day
    -- @contract ADDITIVE (customer BIGINT NOT NULL, day DATE NOT NULL,
    --           revenue DECIMAL(18,2))

A line that begins with `@` sets a key; the lines below it continue its value if they are
indented by three or more spaces; all else is prose. An unknown key or word is an error.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

import msgspec

from headrace.errors import InvalidViewError
from headrace.pipeline.arrow_ddl import parse_schema
from headrace.pipeline.contract import Contract, Evolution


class Materialise(StrEnum):
    """What becomes of a view's rows."""

    NONE = "none"
    """Nothing: whoever reads the view computes it."""
    MEMORY = "memory"
    """They are computed once a run and kept in memory."""
    STAGING = "staging"
    """They are written to a temporary Delta table."""
    OUTPUT = "output"
    """They are written to a Delta table that stays."""


class WriteMode(StrEnum):
    """How an output takes new rows."""

    OVERWRITE = "overwrite"
    APPEND = "append"
    OVERWRITE_PARTITIONS = "overwrite_partitions"
    MERGE = "merge"


class AppendMode(StrEnum):
    """Which rows an output that is appended to takes."""

    ALL = "all"
    """All rows of every result, also those that an earlier one had."""


class Tier(StrEnum):
    """How equal the rows of a replay must be."""

    CANONICAL = "CANONICAL"
    """Byte for byte, in order."""
    STABLE_SET = "STABLE_SET"
    """As a set of rows."""
    BEST_EFFORT = "BEST_EFFORT"
    """As a set of rows, with floats and decimals within the tolerance."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What the author says about a view."""

    description: str = ""
    materialise: Materialise = Materialise.NONE
    write: WriteMode = WriteMode.OVERWRITE
    append: AppendMode | None = None
    """What the author wants appended; without a word, a view that reads something is refused."""
    partition_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """The columns that identify a row: a merge matches by them."""
    change_feed: bool = False
    """Whether the output keeps a change data feed."""
    tier: Tier = Tier.STABLE_SET
    tolerance: float = 0.0
    """How far a number may be off under BEST_EFFORT, relative to its size."""
    contract: Contract | None = None


_ENTRY = re.compile(r"--\s?@(\w+)\s*(.*)")
_CONTINUED = re.compile(r"--\s{3,}(\S.*)")
_CONTRACT = re.compile(r"(?:(\w+)\s*)?\((.*)\)\s*", re.DOTALL)
_KEYS = (
    *("description", "materialise", "write", "append", "partition_by", "keys", "order_by"),
    *("change_feed", "tier", "tolerance", "contract", "metadata"),
)

E = TypeVar("E", bound=StrEnum)


def read_header(sql: str, *, file: str, view: str) -> Header:
    """Read the header of a view's text.

    Raises:
        InvalidViewError: a key is unknown, given twice, or its value is wrong.
    """
    entries: dict[str, tuple[int, str]] = {}
    metadata: dict[str, str] = {}
    for line, key, value in _entries(sql):
        if key not in _KEYS:
            close = get_close_matches(key, _KEYS, n=1)
            hint = f"; did you mean @{close[0]}?" if close else ""
            reason = f"there is no @{key}; there are {', '.join('@' + k for k in _KEYS)}{hint}"
            column = sql.splitlines()[line - 1].index("@") + 1
            raise InvalidViewError(file=file, line=line, column=column, reason=reason)
        if key == "metadata":
            name, found, text = value.partition("=")
            if not found:
                reason = f"@metadata is NAME = VALUE, not {value!r}"
                raise InvalidViewError(file=file, line=line, reason=reason)
            metadata[_property_name(name.strip(), file=file, line=line)] = text.strip()
            continue
        if key in entries:
            raise InvalidViewError(file=file, line=line, reason=f"@{key} is given twice")
        entries[key] = (line, value.strip())
    return _HeaderReader(sql, file, view, entries, metadata).read()


def header_place(sql: str, key: str, word: str = "") -> tuple[int, int] | None:
    """The line and column of a word in the value of a key, or of the key itself; both from 1."""
    lines = sql.splitlines()
    for first, found, value in _entries(sql):
        if found != key:
            continue
        for line in range(first, first + value.count("\n") + 1 if word else first):
            named = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            after = lines[line - 1].index("@") + len(key) + 1 if line == first else 0
            match = named.search(lines[line - 1], after)
            if match is not None:
                return line, match.start() + 1
        return first, lines[first - 1].index("@") + 1
    return None


def _property_name(name: str, *, file: str, line: int) -> str:
    """The name of a property of the table; those that mean something to writers are not free."""
    if not name or name.casefold().startswith(("delta.", "headrace.")):
        reason = f"@metadata cannot set {name!r}: names below delta. and headrace. are reserved"
        raise InvalidViewError(file=file, line=line, reason=reason)
    return name


def _entries(sql: str) -> Iterator[tuple[int, str, str]]:
    """The keys of the leading comment lines, with the line that each stands on."""
    current: tuple[int, str, list[str]] | None = None
    for number, raw in enumerate(sql.splitlines(), start=1):
        text = raw.strip()
        if text and not text.startswith("--"):
            break
        entry, continued = _ENTRY.fullmatch(text), _CONTINUED.fullmatch(text)
        if continued and current:
            current[2].append(continued[1])
            continue
        if current:
            yield current[0], current[1], "\n".join(current[2])
        current = (number, entry[1], [entry[2]]) if entry else None
    if current:
        yield current[0], current[1], "\n".join(current[2])


class _HeaderReader:
    """Turns the texts of one header into values, and says where one is wrong."""

    def __init__(
        self,
        sql: str,
        file: str,
        view: str,
        entries: dict[str, tuple[int, str]],
        metadata: dict[str, str],
    ) -> None:
        self.sql, self.file, self.view = sql, file, view
        self.entries, self.metadata = entries, metadata

    def read(self) -> Header:
        header = Header(
            description=" ".join(self.text("description").split()),
            materialise=self.word("materialise", Materialise, Materialise.NONE),
            write=self.word("write", WriteMode, WriteMode.OVERWRITE),
            append=self.word("append", AppendMode, AppendMode.ALL)
            if "append" in self.entries
            else None,
            partition_by=self.names("partition_by"),
            keys=self.names("keys"),
            change_feed=self.truth("change_feed"),
            tier=self.word("tier", Tier, Tier.STABLE_SET),
            tolerance=self.number("tolerance"),
            contract=self.contract(),
        )
        self.check(header)
        return header

    def check(self, header: Header) -> None:
        if header.materialise is not Materialise.OUTPUT:
            for key in ("write", "append", "partition_by", "change_feed"):
                if key in self.entries:
                    raise self.error(key, f"@{key} is for an output: add '@materialise output'")
        if header.append is not None and header.write is not WriteMode.APPEND:
            raise self.error("append", "@append is for '@write append'")
        if header.write is WriteMode.MERGE and not header.keys:
            raise self.error("write", "a merge needs @keys, the columns to match by")
        if header.write is WriteMode.OVERWRITE_PARTITIONS and not header.partition_by:
            raise self.error("write", "@write overwrite_partitions needs @partition_by")
        if header.tolerance and header.tier is not Tier.BEST_EFFORT:
            raise self.error("tolerance", "a tolerance is for '@tier BEST_EFFORT'")

    def error(self, key: str, reason: str, word: str = "") -> InvalidViewError:
        line, column = header_place(self.sql, key, word) or (None, None)
        return InvalidViewError(file=self.file, line=line, column=column, reason=reason)

    def text(self, key: str) -> str:
        return self.entries[key][1] if key in self.entries else ""

    def names(self, key: str) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.text(key).split(",") if name.strip())

    def word(self, key: str, kind: type[E], default: E) -> E:
        if key not in self.entries:
            return default
        try:
            return kind(self.text(key))
        except ValueError as error:
            text = self.text(key)
            reason = f"@{key} is {' or '.join(kind)}, not {text!r}{_meant(text, [*kind])}"
            raise self.error(key, reason, text) from error

    def truth(self, key: str) -> bool:
        text = self.text(key) or "false"
        if text not in {"true", "false"}:
            raise self.error(key, f"@{key} is true or false, not {text!r}")
        return text == "true"

    def number(self, key: str) -> float:
        try:
            found = float(self.text(key) or 0)
        except ValueError as error:
            raise self.error(key, f"@{key} is a number such as 1e-6") from error
        if not 0 <= found < float("inf"):
            raise self.error(key, f"@{key} must be 0 or more, not {found}")
        return found

    def contract(self) -> Contract | None:
        if "contract" not in self.entries:
            for key in (*(("order_by",) if self.text("order_by") else ()), *self.metadata):
                raise self.error("order_by", f"{key} is part of a contract: add @contract (...)")
            return None
        form = _CONTRACT.fullmatch(self.text("contract"))
        if form is None:
            raise self.error("contract", "@contract is '[POLICY] (column TYPE [NOT NULL], ...)'")
        try:
            evolution = Evolution((form[1] or Evolution.STRICT).upper())
        except ValueError as error:
            hint = _meant(form[1].upper(), [*Evolution])
            reason = f"the policy of a contract is {', '.join(Evolution)}, not {form[1]!r}{hint}"
            raise self.error("contract", reason, form[1]) from error
        try:
            return Contract.from_arrow(
                parse_schema(form[2]),
                table=self.view,
                evolution=evolution,
                partition_columns=self.names("partition_by"),
                ordering=self.names("order_by"),
                metadata=self.metadata,
            )
        except ValueError as error:
            raise self.error("contract", str(error)) from error


def _meant(word: str, known: list[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
