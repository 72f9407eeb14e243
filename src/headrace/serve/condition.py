"""Translates the predicate JSON of the wire format into the SQL condition of a scan.

    predicate   = {} | { entry, ... }                  all entries must hold; {} is always true
    entry       = column: value                        equality; null means IS NULL
                | column: { test, ... }                all tests must hold
                | "$and": [predicate, ...]             all of them, at least one
                | "$or":  [predicate, ...]             any of them, at least one
                | "$not": predicate
    test        = "$eq" | "$ne" | "$lt" | "$le" | "$gt" | "$ge": value
                | "$in": [value, ...]                  at least one value
                | "$is_null": true | false
                | "$starts_with": text
    column      = a name; a.b is a member of a struct; `back ticks` quote any name
    value       = text | number | true | false | null

JSON text enters; SQL text leaves. Names are always quoted and strings escaped, so no value can
become syntax. Numbers keep their spelling: 1.5 is a decimal and 1e3 a double, as in SQL.
"""

import json
from collections.abc import Callable
from typing import Any

from headrace.errors import MalformedRequestError

MAX_DEPTH = 15
"""The deepest nesting of predicates. Each level becomes two brackets of at most 32 in SQL."""

_COMPARISONS = {"$eq": "=", "$ne": "<>", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}


class _Number(str):
    """A number as the JSON text spells it."""

    __slots__ = ()


def parse_condition(text: str | bytes) -> str | None:
    """Turn the JSON text of a predicate into a SQL condition; None if it has no entry.

    Raises:
        MalformedRequestError: it is not in the grammar.
    """
    try:
        predicate = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=unique_keys,
        )
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise MalformedRequestError(reason=f"where is not JSON: {reason}") from error
    return _all_of(_object(predicate, "a predicate"), depth=0)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, for the parser of Python; refuse it if another parser may differ.

    Raises:
        ValueError: a key is repeated.
    """
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("an object repeats a key")
    return entries


def _all_of(entries: dict[str, Any], *, depth: int) -> str | None:
    """Join the entries of a predicate with AND."""
    if depth > MAX_DEPTH:
        raise MalformedRequestError(reason=f"where is nested more than {MAX_DEPTH} levels deep")
    parts = [_entry(key, value, depth=depth) for key, value in entries.items()]
    return " AND ".join(f"({part})" for part in parts) or None


def _entry(key: str, value: Any, *, depth: int) -> str:
    def one(predicate: Any) -> str:
        return _all_of(_object(predicate, f"in {key}"), depth=depth + 1) or "TRUE"

    match key:
        case "$and" | "$or":
            word = f" {key[1:].upper()} "
            return word.join(f"({one(part)})" for part in _list(value, key))
        case "$not":
            return f"NOT ({one(value)})"
        case _:
            return _column_tests(_column(key), value)


def _column_tests(column: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{column} IS NULL" if value is None else f"{column} = {_literal(value)}"
    if not value:
        raise MalformedRequestError(reason=f"where has no test for the column {column}")
    return " AND ".join(_test(column, name, operand) for name, operand in value.items())


def _test(column: str, name: str, operand: Any) -> str:
    if name in _COMPARISONS:
        return f"{column} {_COMPARISONS[name]} {_literal(operand)}"
    known: dict[str, Callable[[], str]] = {
        "$in": lambda: f"{column} IN ({', '.join(map(_literal, _list(operand, name)))})",
        "$is_null": lambda: f"{column} IS {'' if _flag(operand, name) else 'NOT '}NULL",
        "$starts_with": lambda: f"startswith({column}, {_text_literal(operand, name)})",
    }
    if name not in known:
        tests = ", ".join((*_COMPARISONS, *known))
        raise MalformedRequestError(reason=f"where has the unknown test {name!r}; use {tests}")
    return known[name]()


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedRequestError(reason=f"where needs an object {where}")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise MalformedRequestError(reason=f"where needs a non-empty list after {name}")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise MalformedRequestError(reason=f"where needs true or false after {name}")
    return value


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case _Number():
            return str(value)
        case str():
            return _quoted_text(value)
        case _:
            raise MalformedRequestError(reason="where compares a column with a list or an object")


def _text_literal(value: Any, name: str) -> str:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise MalformedRequestError(reason=f"where needs a string after {name}")
    return _quoted_text(value)


def _quoted_text(text: str) -> str:
    _check_text(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _column(key: str) -> str:
    """Return a column as quoted SQL.

    A back tick inside back ticks is doubled.
    """
    _check_text(key)
    if key.startswith("$"):
        raise MalformedRequestError(
            reason=f"where has the unknown operator {key!r}; use $and, $or or $not, or put a "
            "column name that begins with $ in back ticks"
        )
    return ".".join("`" + part.replace("`", "``") + "`" for part in _parts(key))


def _parts(key: str) -> list[str]:
    parts: list[str] = []
    rest = key
    while True:
        if rest.startswith("`"):
            name, rest = _quoted_part(rest[1:], key)
        else:
            name, dot, below = rest.partition(".")
            rest = dot + below
        if not name or "`" in rest[:1]:
            raise MalformedRequestError(reason=f"{key!r} in where is not the name of a column")
        parts.append(name)
        if not rest:
            return parts
        if not rest.startswith("."):
            raise MalformedRequestError(reason=f"{key!r} in where is not the name of a column")
        rest = rest[1:]


def _quoted_part(rest: str, key: str) -> tuple[str, str]:
    """Return the name up to the closing back tick, and the text after it."""
    name = ""
    while True:
        before, tick, rest = rest.partition("`")
        name += before
        if not tick:
            raise MalformedRequestError(reason=f"a back tick of {key!r} in where is not closed")
        if not rest.startswith("`"):
            return name, rest
        name, rest = name + "`", rest[1:]


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MalformedRequestError(reason="where contains an unpaired surrogate") from error
