"""Settings and variables: what changes results without being in the SQL of a view.

A view uses a variable as `:name`. The variable keeps its TOML type, which is also the type of the
literal that replaces it.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from sqlglot import exp

from headrace.errors import InvalidArgumentError

VariableValue: TypeAlias = bool | int | float | str | date | datetime


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[settings]`."""

    time_zone: str = "UTC"
    """The session time zone, for timestamps without a zone and the boundaries of days."""
    ansi: bool = True
    """Whether invalid casts and overflows are errors; if not, they give null."""

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"time_zone: there is no zone {self.time_zone!r}") from error


def check_variable(value: Any) -> VariableValue:
    """Return a value of the manifest, if it can be a literal.

    Raises:
        ValueError: it is a table, a list or a time of day.
    """
    if isinstance(value, bool | int | float | str | date | datetime):
        return value
    raise ValueError(f"a variable is a string, number, boolean, date or time, not {value!r}")


def parse_variable(text: str, *, like: VariableValue) -> VariableValue:
    """Parse the value of `--var NAME=VALUE` as the type of an existing value.

    Raises:
        ValueError: the text is not of that type.
    """
    match like:
        case bool():
            if text.casefold() not in {"true", "false"}:
                raise ValueError(f"{text!r} is neither true nor false")
            return text.casefold() == "true"
        case int():
            return int(text)
        case float():
            return float(text)
        case datetime():
            return datetime.fromisoformat(text)
        case date():
            return date.fromisoformat(text)
        case _:
            return text


def variable_literal(value: VariableValue) -> exp.Expr:
    """Return the literal that Spark makes of a named parameter."""
    match value:
        case bool():
            return exp.Boolean(this=value)
        case int():
            literal: exp.Expr = exp.Literal.number(abs(value))
            literal = exp.Neg(this=literal) if value < 0 else literal
            is_int = -(2**31) <= value < 2**31
            return literal if is_int else exp.cast(literal, "BIGINT", dialect="spark")
        case float():
            return exp.cast(exp.Literal.string(repr(value)), "DOUBLE", dialect="spark")
        case datetime():
            kind = "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
            return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), kind, dialect="spark")
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE", dialect="spark")
        case _:
            return exp.Literal.string(value)


def variable_text(value: VariableValue) -> str:
    """Encode a value with its type, for bundles and skip keys."""
    shown = value.isoformat() if isinstance(value, date) else str(value)
    return f"{type(value).__name__}:{shown}"


def variable_value(text: str) -> VariableValue:
    """Decode the result of `variable_text`."""
    kind, _, shown = text.partition(":")
    return parse_variable(shown, like=_EXAMPLES[kind])


_EXAMPLES: dict[str, VariableValue] = {
    "bool": True,
    "int": 0,
    "float": 0.0,
    "str": "",
    "date": date.min,
    "datetime": datetime.min,  # noqa: DTZ901  (only its type counts)
}


def change_variables(
    variables: Mapping[str, VariableValue], changes: Mapping[str, VariableValue | str]
) -> dict[str, VariableValue]:
    """Return variables with some changed; strings are parsed as the type of the old value.

    Raises:
        InvalidArgumentError: a variable does not exist, or a string cannot be parsed.
    """
    changed = dict(variables)
    for name, value in changes.items():
        if name not in changed:
            reason = (
                f"there is no variable {name}; there are {', '.join(sorted(changed)) or 'none'}"
            )
            raise InvalidArgumentError(argument="--var", reason=reason)
        try:
            changed[name] = (
                parse_variable(value, like=changed[name]) if isinstance(value, str) else value
            )
        except ValueError as error:
            kind, _, shown = variable_text(changed[name]).partition(":")
            reason = f"{name}: {value!r} is not of type {kind}, such as {shown}"
            raise InvalidArgumentError(argument="--var", reason=reason) from error
    return changed
