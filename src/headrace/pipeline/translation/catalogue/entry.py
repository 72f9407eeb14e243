"""A catalogue entry: a function, its argument types, its result type, and its computation.

Argument types decide which entry translates a call; Spark's implicit casts are applied first.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec
import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.evaluation import EAGER, as_evaluated
from headrace.pipeline.translation.interval_type import TIME_OF_DAY, VARIANT, has_no_column
from headrace.pipeline.translation.typed import Typed, call, native, present

Gives: TypeAlias = pa.DataType | Callable[[Sequence[pa.DataType]], pa.DataType]
Build: TypeAlias = Callable[[Casts, Sequence[Typed]], Typed | None]
"""Builds the expression from arguments of the declared types; None if it cannot."""

_NEVER_NULL = frozenset({"array", "map", "named_struct", "hash", "xxhash64", "typeof"})
"""Functions whose results are never null."""
_EXACT = {
    "BOOLEAN": t.BOOLEAN,
    "INT": t.INT,
    "BIGINT": t.LONG,
    "DOUBLE": t.DOUBLE,
    "STRING": t.STRING,
    "BINARY": t.BINARY,
    "DATE": t.DATE,
    "TIMESTAMP": t.TIMESTAMP,
    "TIMESTAMP_NTZ": t.TIMESTAMP_NTZ,
    "ARRAY<STRING>": t.array_of(t.STRING),
}
_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "INTEGER": t.is_integer,
    "DECIMAL": t.is_decimal,
    "FLOATING": t.is_float,
    "NUMERIC": t.is_numeric,
    "ARRAY": t.is_array,
    "MAP": lambda kind: bool(pa.types.is_map(kind)),
    "ANY": lambda kind: not has_no_column(kind),
    "INTERVAL": t.is_interval,
    "TIME": lambda kind: kind == TIME_OF_DAY,
    "VARIANT": lambda kind: kind == VARIANT,
    "VOID": lambda kind: kind == t.VOID,
    "BYTES": lambda kind: kind == t.BINARY,
    "TEXT": lambda kind: kind == t.STRING,
}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A function for certain argument types."""

    name: str
    takes: tuple[str, ...]
    """The types: one of Spark's, or a class of them. `[X]` is optional, `X...` may be repeated,
    `X!` must be a literal. `BYTES` and `TEXT` are BINARY and STRING without implicit casts."""
    gives: Gives
    how: str
    """DataFusion's expression, or the kernel, as the documentation shows it."""
    build: Build

    def match(self, casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        """Translate a call; None if the argument types do not match."""
        words = _spread(self.takes, len(arguments))
        if words is None:
            return None
        fitted = []
        for word, argument in zip(words, arguments, strict=True):
            fitted_argument = _fit(casts, argument, word)
            if fitted_argument is None:
                return None
            fitted.append(fitted_argument)
        evaluated = as_evaluated(self.name, fitted)
        result = None if evaluated is None else self.build(casts, evaluated)
        if result is not None and self.name in _NEVER_NULL:
            result = present(result)
        if result is None or self.name in EAGER:
            return result
        is_null = any(argument.is_null for argument in fitted)
        return msgspec.structs.replace(result, is_null=is_null)


def _spread(takes: Sequence[str], count: int) -> list[str] | None:
    """Return the words for `count` arguments; None if the function does not take that many."""
    required = [word for word in takes if not word.startswith("[")]
    if takes and takes[-1].endswith("..."):
        first = list(takes[:-1])
        if count < len(first) + 1:
            return None
        return first + [takes[-1].removesuffix("...")] * (count - len(first))
    if not len(required) <= count <= len(takes):
        return None
    return [word.strip("[]") for word in takes[:count]]


def _fit(casts: Casts, argument: Typed, word: str) -> Typed | None:
    """Return an argument as the type that a word of `takes` names; None if it does not fit."""
    if word.endswith("!"):
        if not argument.is_literal or argument.value is None:
            return None
        word = word[:-1]
    if word in _EXACT:
        return _implicit(casts, argument, _EXACT[word])
    if argument.type == t.VOID and word not in {"ANY", "VOID"}:
        return None
    return argument if _KINDS[word](argument.type) else None


def _implicit(casts: Casts, argument: Typed, to: pa.DataType) -> Typed | None:
    """Cast an argument as Spark does implicitly."""
    source = argument.type
    if source == to:
        return argument
    allowed = (
        source == t.VOID
        or (to == t.STRING and (t.is_numeric(source) or source in (t.DATE, t.BOOLEAN)))
        or (to == t.STRING and t.is_timestamp(source))
        or (to == t.DOUBLE and t.is_numeric(source))
        or (to == t.LONG and t.is_integer(source))
        or (to == t.INT and t.is_integer(source) and source != t.LONG)
        or (to == t.DATE and (source == t.STRING or t.is_timestamp(source)))
        or (to == t.TIMESTAMP and source in (t.STRING, t.DATE))
        or (to == t.DOUBLE and source == t.STRING and casts.ansi)
        or (to == t.BINARY and source == t.STRING)
    )
    return casts.cast(argument, to) if allowed else None


class Catalogue:
    """Entries by name; entries are tried in the order of their declaration."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Take all entries."""
        self.by_name: dict[str, list[Entry]] = {}
        for entry in entries:
            self.by_name.setdefault(entry.name, []).append(entry)

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def translate(self, name: str, casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        """Translate a call; None if no entry takes these arguments."""
        for entry in self.by_name.get(name, ()):
            expression = entry.match(casts, arguments)
            if expression is not None:
                return expression
        return None


def by_native(name: str, takes: str, gives: pa.DataType, template: str) -> Entry:
    """Return the entry of a function that is a DataFusion expression."""
    return Entry(
        name=name,
        takes=_words(takes),
        gives=gives,
        how=template,
        build=lambda _, arguments: native(template, gives, *arguments),
    )


def by_kernel(  # noqa: PLR0913
    name: str,
    takes: str,
    gives: Gives,
    kernel: str,
    *parameters: str,
    can_fail: bool = False,
    ansi_only: bool = False,
) -> Entry:
    """Return the entry of a function that a kernel computes."""

    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        if ansi_only and not casts.ansi:
            return None
        kind = gives([a.type for a in arguments]) if callable(gives) else gives
        return call(kernel, kind, *arguments, parameters=parameters, can_fail=can_fail)

    return Entry(name=name, takes=_words(takes), gives=gives, how=f"kernel {kernel}", build=build)


def by_rule(name: str, takes: str, gives: Gives, how: str, build: Build) -> Entry:
    """Return the entry of a function that is built from its arguments."""
    return Entry(name=name, takes=_words(takes), gives=gives, how=how, build=build)


def first_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of the first argument: the result type of many functions."""
    return types[0]


def _words(takes: str) -> tuple[str, ...]:
    return tuple(takes.split()) if takes else ()
