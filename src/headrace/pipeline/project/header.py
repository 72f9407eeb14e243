"""Parses the header of a view: the settings in its leading comments.

    -- @description Revenue of each customer and day.
    -- @materialise output
    -- @write merge
    -- @keys customer, day
    -- @contract ADDITIVE (customer BIGINT NOT NULL, day DATE NOT NULL,
    --           revenue DECIMAL(18,2))

A line that starts with `@` sets a key; lines below it that are indented by three or more spaces
continue its value; all other lines are prose. An unknown key or value is an error.
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
    """How a view's rows are kept."""

    NONE = "none"
    """Not at all: the view is computed as part of the views that read it."""
    MEMORY = "memory"
    """In memory, computed once per run."""
    STAGING = "staging"
    """In a Delta table that is removed after the run."""
    OUTPUT = "output"
    """In a permanent Delta table."""


class WriteMode(StrEnum):
    """How new rows are written to an output table."""

    OVERWRITE = "overwrite"
    APPEND = "append"
    OVERWRITE_PARTITIONS = "overwrite_partitions"
    MERGE = "merge"


class AppendMode(StrEnum):
    """Which rows `@write append` appends."""

    ALL = "all"
    """All rows of every result, including rows that were appended before."""


class Tier(StrEnum):
    """How strictly a replay compares rows."""

    CANONICAL = "CANONICAL"
    """Exactly, in order."""
    STABLE_SET = "STABLE_SET"
    """Exactly, in any order."""
    BEST_EFFORT = "BEST_EFFORT"
    """In any order, with floats and decimals within the tolerance."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a view."""

    description: str = ""
    materialise: Materialise = Materialise.NONE
    write: WriteMode = WriteMode.OVERWRITE
    append: AppendMode | None = None
    """What `@write append` appends; None is an error for a view that reads a relation."""
    partition_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """The columns that identify a row; a merge matches by them."""
    change_feed: bool = False
    """Whether the output keeps a change data feed."""
    tier: Tier = Tier.STABLE_SET
    tolerance: float = 0.0
    """The relative tolerance for floats and decimals under BEST_EFFORT."""
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
    """Parse the header of a view's SQL.

    Raises:
        InvalidViewError: a key is unknown or set twice, or its value is invalid.
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
            name, separator, text = value.partition("=")
            if not separator:
                reason = f"@metadata is NAME = VALUE, not {value!r}"
                raise InvalidViewError(file=file, line=line, reason=reason)
            metadata[_property_name(name.strip(), file=file, line=line)] = text.strip()
            continue
        if key in entries:
            raise InvalidViewError(file=file, line=line, reason=f"@{key} is set twice")
        entries[key] = (line, value.strip())
    return _HeaderReader(sql, file, view, entries, metadata).read()


def header_place(sql: str, key: str, word: str = "") -> tuple[int, int] | None:
    """Return line and column of a word in a key's value, else of the key itself, from 1."""
    lines = sql.splitlines()
    for first, entry_key, value in _entries(sql):
        if entry_key != key:
            continue
        for line in range(first, first + value.count("\n") + 1 if word else first):
            word_pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            search_from = lines[line - 1].index("@") + len(key) + 1 if line == first else 0
            match = word_pattern.search(lines[line - 1], search_from)
            if match is not None:
                return line, match.start() + 1
        return first, lines[first - 1].index("@") + 1
    return None


def _property_name(name: str, *, file: str, line: int) -> str:
    """Return the name of a table property; names with a meaning to writers are rejected."""
    if not name or name.casefold().startswith(("delta.", "headrace.")):
        reason = f"@metadata cannot set {name!r}: names below delta. and headrace. are reserved"
        raise InvalidViewError(file=file, line=line, reason=reason)
    return name


def _entries(sql: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and value of each entry in the leading comments."""
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
    """Converts the entries of one header; errors have the position of the entry."""

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
            change_feed=self.boolean("change_feed"),
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
            reason = f"@{key} is {' or '.join(kind)}, not {text!r}{_did_you_mean(text, [*kind])}"
            raise self.error(key, reason, text) from error

    def boolean(self, key: str) -> bool:
        text = self.text(key) or "false"
        if text not in {"true", "false"}:
            raise self.error(key, f"@{key} is true or false, not {text!r}")
        return text == "true"

    def number(self, key: str) -> float:
        try:
            number = float(self.text(key) or 0)
        except ValueError as error:
            raise self.error(key, f"@{key} must be a number such as 1e-6") from error
        if not 0 <= number < float("inf"):
            raise self.error(key, f"@{key} must be 0 or more, not {number}")
        return number

    def contract(self) -> Contract | None:
        if "contract" not in self.entries:
            for key in (*(("order_by",) if self.text("order_by") else ()), *self.metadata):
                raise self.error("order_by", f"{key} is part of a contract: add @contract (...)")
            return None
        match = _CONTRACT.fullmatch(self.text("contract"))
        if match is None:
            raise self.error("contract", "@contract is '[POLICY] (column TYPE [NOT NULL], ...)'")
        try:
            evolution = Evolution((match[1] or Evolution.STRICT).upper())
        except ValueError as error:
            hint = _did_you_mean(match[1].upper(), [*Evolution])
            reason = f"the policy of a contract is {', '.join(Evolution)}, not {match[1]!r}{hint}"
            raise self.error("contract", reason, match[1]) from error
        try:
            return Contract.from_arrow(
                parse_schema(match[2]),
                table=self.view,
                evolution=evolution,
                partition_columns=self.names("partition_by"),
                ordering=self.names("order_by"),
                metadata=self.metadata,
            )
        except ValueError as error:
            raise self.error("contract", str(error)) from error


def _did_you_mean(word: str, choices: list[str]) -> str:
    close = get_close_matches(word, choices, n=1)
    return f"; did you mean {close[0]}?" if close else ""
