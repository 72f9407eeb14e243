"""Checks and normalizes the arguments of public calls.

Any value enters, since not every caller uses a type checker; a value of the right type leaves, or
an `InvalidArgumentError` that says what to write.
"""

from collections.abc import Iterable, Sequence
from math import inf
from operator import index
from os import PathLike, fsdecode
from typing import Any, TypeVar

from headrace.errors import InvalidArgumentError
from headrace.expr.node import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from headrace.log.name import LOG_DIRECTORY, STAGED_DIRECTORY, staged_version
from headrace.protocol.log_file import LogFile
from headrace.scan.options import ScanOptions

Chosen = TypeVar("Chosen", bound=ScanOptions)

_PREDICATES = (
    Constant,
    Column,
    Compare,
    In,
    IsNull,
    StartsWith,
    Like,
    Opaque,
    And,
    Or,
    Not,
)
_LARGEST = (1 << 63) - 1
"""Versions and counts are 64-bit numbers, as in other readers and writers."""


def address(uri: Any) -> str:
    """Return the address of a table, given a path or an address."""
    if not isinstance(uri, str | bytes | PathLike):
        reason = f"it must be a path or an address, such as 'data/events', not {uri!r}"
        raise InvalidArgumentError(argument="uri", reason=reason)
    return fsdecode(uri)


def ratified_tail(paths: Sequence[str]) -> tuple[LogFile, ...]:
    """Return the commits that a catalog names as log files."""
    files: dict[int, LogFile] = {}
    for path in map(str, paths):
        below = path.removeprefix(f"{LOG_DIRECTORY}/")
        version = staged_version(below)
        if version is None or below.startswith("/") or "://" in below or ".." in below.split("/"):
            reason = f"{path!r} is not the path of a commit below {LOG_DIRECTORY}"
            raise InvalidArgumentError(argument="log_tail", reason=reason)
        if version in files:
            reason = f"it names two commits for version {version}, and only one can be ratified"
            raise InvalidArgumentError(argument="log_tail", reason=reason)
        if "/" not in below and below != f"{version:020}.json":
            below = f"{STAGED_DIRECTORY}/{below}"
        files[version] = LogFile(path=f"{LOG_DIRECTORY}/{below}", version=version)
    return tuple(files.values())


def whole_number(argument: str, value: Any) -> int:
    """Return a whole number, given one of Python or NumPy."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= _LARGEST:
        reason = f"it must be a whole number from 0 to {_LARGEST}, not {value!r}"
        raise InvalidArgumentError(argument=argument, reason=reason)
    return number


def seconds(argument: str, value: Any) -> float:
    """Return a duration in seconds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < inf:
        reason = f"it must be a number of seconds, such as 0.5, not {value!r}"
        raise InvalidArgumentError(argument=argument, reason=reason)
    return float(value)


def condition(where: Any) -> str:
    """Return a SQL condition."""
    if not isinstance(where, str):
        reason = f"it must be a condition in SQL, such as \"city = 'Bern'\", not {where!r}"
        raise InvalidArgumentError(argument="where", reason=reason)
    return where


def predicate(where: Any) -> str | Predicate:
    """Return a SQL condition, or a parsed or constructed predicate."""
    return where if isinstance(where, _PREDICATES) else condition(where)


def column_names(columns: Any) -> tuple[str, ...]:
    """Return column names; refuses a single string, which would be a list of letters."""
    listed = isinstance(columns, Iterable) and not isinstance(columns, str)
    names = tuple(columns) if listed else None
    if names is None or not all(isinstance(name, str) for name in names):
        reason = f"it must be a list of names, such as ['id'], not {columns!r}"
        raise InvalidArgumentError(argument="columns", reason=reason)
    return names


def chosen_options(options: Any, kind: type[Chosen], overrides: dict[str, Any]) -> Chosen:
    """Return the options with overrides by name."""
    if not isinstance(options, kind):
        reason = f"it must be of type {kind.__name__}, not {options!r}"
        raise InvalidArgumentError(argument="options", reason=reason)
    return options.with_overrides(overrides)
