"""The oracle: Spark's three-valued logic, row by row, in the simplest Python.

A literal knows the domain in which Spark compares it with its column. The column's value is
converted to that domain and compared. Nothing of the library is used.
"""

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, TypeAlias

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Lit:
    """A literal: its text, and its value in the domain of the comparison."""

    sql: str
    domain: str
    value: Any


@dataclass(frozen=True)
class Cmp:
    column: str
    op: str
    literal: Lit
    mirrored: bool = False


@dataclass(frozen=True)
class Among:
    column: str
    literals: tuple[Lit, ...]


@dataclass(frozen=True)
class Null:
    column: str


@dataclass(frozen=True)
class Prefix:
    column: str
    prefix: str


@dataclass(frozen=True)
class Pattern:
    column: str
    pattern: str


@dataclass(frozen=True)
class Flag:
    column: str


@dataclass(frozen=True)
class Const:
    value: bool | None


@dataclass(frozen=True)
class Every:
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Some:
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Inverse:
    part: "Node"


Node: TypeAlias = Cmp | Among | Null | Prefix | Pattern | Flag | Const | Every | Some | Inverse
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
NULL = Lit("NULL", "null", None)
INTEGERS = frozenset(("tiny", "int", "big"))


def sql(node: Node) -> str:  # noqa: C901  (one case a node)
    """Return the predicate as a user would write it."""
    match node:
        case Cmp(column, op, literal, False):
            return f"`{column}` {op} {literal.sql}"
        case Cmp(column, op, literal):
            return f"{literal.sql} {MIRRORED.get(op, op)} `{column}`"
        case Among(column, literals):
            return f"`{column}` IN ({', '.join(literal.sql for literal in literals)})"
        case Null(column):
            return f"`{column}` IS NULL"
        case Prefix(column, prefix):
            return f"startswith(`{column}`, {text_sql(prefix)})"
        case Pattern(column, pattern):
            return f"`{column}` LIKE {text_sql(pattern)}"
        case Flag(column):
            return f"`{column}`"
        case Const(value):
            return {True: "TRUE", False: "FALSE", None: "NULL"}[value]
        case Every(parts):
            return " AND ".join(f"({sql(part)})" for part in parts)
        case Some(parts):
            return " OR ".join(f"({sql(part)})" for part in parts)
        case Inverse(part):
            return f"NOT ({sql(part)})"


def text_sql(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def truth(node: Node, row: dict[str, Any]) -> bool | None:  # noqa: C901  (a case a node)
    """Return true, false or null, as Spark would for this row."""
    match node:
        case Const(value):
            return value
        case Null(column):
            return row[column] is None
        case Flag(column):
            return row[column]  # type: ignore[no-any-return]
        case Prefix(column, prefix):
            return None if row[column] is None else row[column].startswith(prefix)
        case Pattern(column, pattern):
            return None if row[column] is None else is_like(row[column], pattern)
        case Cmp(column, op, literal):
            beyond = _beyond_long(column, op, literal)
            return _compare(row[column], op, literal) if beyond is None else beyond
        case Among(column, literals):
            return _among(row[column], literals)
        case Inverse(part):
            inner = truth(part, row)
            return None if inner is None else not inner
        case Every(parts):
            return _every([truth(part, row) for part in parts])
        case Some(parts):
            inner = _every([_inverse(truth(part, row)) for part in parts])
            return _inverse(inner)


def is_like(text: str, pattern: str) -> bool:
    """Match letter by letter; `%` tries every suffix."""
    match pattern[:1]:
        case "":
            return not text
        case "%":
            return any(is_like(text[end:], pattern[1:]) for end in range(len(text) + 1))
        case "\\":
            return text[:1] == pattern[1] and is_like(text[1:], pattern[2:])
        case letter:
            return bool(text) and letter in ("_", text[0]) and is_like(text[1:], pattern[1:])


def _inverse(value: bool | None) -> bool | None:  # noqa: FBT001
    return None if value is None else not value


def _every(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _beyond_long(column: str, op: str, literal: Lit) -> bool | None:
    """Spark compares integers with values beyond a long the same for every row, even nulls."""
    is_number = literal.domain == "exact" and literal.value is not None
    if column not in INTEGERS or not is_number or op not in {"<", "<=", ">", ">="}:
        return None
    if -(2**63) <= literal.value < 2**63:
        return None
    return bool(op.startswith("<") == (literal.value > 0))


def _compare(value: Any, op: str, literal: Lit) -> bool | None:
    if op == "<=>":
        if value is None or literal.value is None:
            return value is None and literal.value is None
        return _order(value, literal) == 0
    if value is None or literal.value is None:
        return None
    order = _order(value, literal)
    return {
        "=": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[op]


def _among(value: Any, literals: tuple[Lit, ...]) -> bool | None:
    if value is None:
        return None
    if any(literal.value is not None and _order(value, literal) == 0 for literal in literals):
        return True
    return None if any(literal.value is None for literal in literals) else False


def _order(value: Any, literal: Lit) -> int:
    left, right = _in_domain(value, literal.domain), literal.value
    if literal.domain == "double":
        left, right = (math.isnan(left), left), (math.isnan(right), right)
        if left[0] or right[0]:
            left, right = left[0], right[0]
    return int(left > right) - int(left < right)


def _in_domain(value: Any, domain: str) -> Any:
    match domain:
        case "exact":
            return Fraction(value)
        case "double":
            return float(value)
        case "text":
            return value.encode()
        case "time":
            return micros(value)
        case _:
            return value


def micros(value: date | datetime) -> int:
    """Return microseconds since 1970; a time without a zone is in UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    gap = value - EPOCH
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds
