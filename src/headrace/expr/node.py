"""The closed set of nodes of a predicate.

One tree serves both forms: a predicate as written names a `Column`; a bound one holds a
`BoundColumn` and literals of that column's type. Nodes are immutable, can be pickled, and
print as SQL.
"""

import re
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

import msgspec

from headrace.protocol.schema import DataType, DecimalType, PrimitiveType

Value: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | None
"""The value of a literal; its Python type determines its SQL type. A time without zone is naive."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEFORE_WILDCARD = re.compile(r"(?:[^%_\\]|\\[%_\\])*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\0"})

_BEYOND_LONG = 2**63
_SUFFIXES = {"byte": "Y", "short": "S", "long": "L"}


class CompareOp(Enum):
    """How a column is compared with a literal."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    SAFE_EQ = "<=>"

    @property
    def mirrored(self) -> "CompareOp":
        """The equivalent operator with the two sides swapped."""
        return _MIRRORED.get(self, self)


_MIRRORED = {
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
}


class Basis(Enum):
    """What a predicate will be evaluated over."""

    STATISTICS = "statistics"
    """The column statistics of a file. Parts whose statistics are unreliable are opaque."""
    VALUES = "values"
    """The rows themselves, which are exact."""


class Column(msgspec.Struct, frozen=True):
    """A column as written: its name, or the path of names to a struct member."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(map(_quoted_name, self.parts))


class BoundColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the table: its logical path, its physical path in files, and its type."""

    path: tuple[str, ...]
    physical_path: tuple[str, ...]
    type: DataType
    is_partition: bool

    def __str__(self) -> str:
        return ".".join(map(_quoted_name, self.path))


C = TypeVar("C", Column, BoundColumn)
P_co = TypeVar("P_co", covariant=True)


class Literal(msgspec.Struct, frozen=True):
    """A value as written or, once bound, a value of its column's type."""

    value: Value
    declared: DataType | None = None
    """The type named in the text, where the value alone does not determine it.

    An exact number under a cast has the precision of its type, and a time without a zone may be in
    the session's time zone (`timestamp`).
    """

    def __str__(self) -> str:
        match self.value, self.declared:
            case int(), PrimitiveType(name) if name in _SUFFIXES:
                return f"{self.value}{_SUFFIXES[name]}"
            case datetime(), PrimitiveType("timestamp"):
                return f"TIMESTAMP '{self.value}'"
            case Decimal(), DecimalType():
                return f"CAST('{self.value:f}' AS {self.declared})"
            case _:
                return _sql(self.value)


class Constant(msgspec.Struct, frozen=True):
    """True, false or null for every row."""

    value: bool | None

    def __str__(self) -> str:
        return _sql(self.value)


class Compare(msgspec.Struct, Generic[C], frozen=True):
    """Compares a column with a literal; null where the column is null, except for `<=>`."""

    column: C
    op: CompareOp
    literal: Literal

    def __str__(self) -> str:
        return f"{self.column} {self.op.value} {self.literal}"


class In(msgspec.Struct, Generic[C], frozen=True):
    """Tests a column against a list; a null in the list turns every false into null."""

    column: C
    literals: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(map(str, self.literals))})"


class IsNull(msgspec.Struct, Generic[C], frozen=True):
    """Tests whether a column is null; the result is never null."""

    column: C

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


class StartsWith(msgspec.Struct, Generic[C], frozen=True):
    """Tests whether a string starts with `prefix`, literally; null where the column is null."""

    column: C
    prefix: str

    def __str__(self) -> str:
        if any(special in self.prefix for special in "%_\\"):
            return f"startswith({self.column}, {_sql(self.prefix)})"
        return f"{self.column} LIKE {_sql(self.prefix + '%')}"


class Like(msgspec.Struct, Generic[C], frozen=True):
    """Tests whether a string matches a pattern; null where the column is null.

    `_` matches any one character and `%` any string. A backslash escapes `_`, `%` and itself.
    """

    column: C
    pattern: str

    @property
    def prefix(self) -> str:
        """The literal prefix of every string that matches the pattern."""
        plain = _BEFORE_WILDCARD.match(self.pattern)
        return _ESCAPED.sub(r"\1", plain[0]) if plain else ""

    def __str__(self) -> str:
        return f"{self.column} LIKE {_sql(self.pattern)}"


class Opaque(msgspec.Struct, frozen=True):
    """Legal SQL that is never evaluated here: it may be true, false or null for any row."""

    sql: str
    columns: tuple[Column, ...]

    def __str__(self) -> str:
        return self.sql


class And(msgspec.Struct, Generic[P_co], frozen=True):
    """True where all parts are true, false where any is false, else null."""

    parts: tuple[P_co, ...]

    def __str__(self) -> str:
        return " AND ".join(map(_nested, self.parts))


class Or(msgspec.Struct, Generic[P_co], frozen=True):
    """True where any part is true, false where all are false, else null."""

    parts: tuple[P_co, ...]

    def __str__(self) -> str:
        return " OR ".join(map(_nested, self.parts))


class Not(msgspec.Struct, Generic[P_co], frozen=True):
    """True where its part is false, false where it is true, else null."""

    part: P_co

    def __str__(self) -> str:
        match self.part:
            case IsNull(column):
                return f"{column} IS NOT NULL"
            case In(column, literals):
                return f"{column} NOT IN ({', '.join(map(str, literals))})"
            case part:
                return f"NOT ({part})"


Predicate: TypeAlias = (
    Constant
    | Column
    | Compare[Column]
    | In[Column]
    | IsNull[Column]
    | StartsWith[Column]
    | Like[Column]
    | Opaque
    | And["Predicate"]
    | Or["Predicate"]
    | Not["Predicate"]
)
"""A predicate as written; a `Column` by itself is a boolean column."""

BoundPredicate: TypeAlias = (
    Constant
    | Compare[BoundColumn]
    | In[BoundColumn]
    | IsNull[BoundColumn]
    | StartsWith[BoundColumn]
    | Like[BoundColumn]
    | Opaque
    | And["BoundPredicate"]
    | Or["BoundPredicate"]
    | Not["BoundPredicate"]
)
"""A predicate over the columns of one table."""


def _nested(part: object) -> str:
    return f"({part})" if isinstance(part, And | Or) else str(part)


def _quoted_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _sql(value: Value) -> str:
    """Write a value as the Spark literal of its type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return f"{value!r}D" if abs(value) < float("inf") else f"DOUBLE('{value}')"
        case Decimal():
            # Beyond the range of long, a literal without a suffix differs from a cast one.
            return f"{value}BD" if abs(value) < _BEYOND_LONG else f"{value:f}"
        case str():
            return f"'{value.translate(_ESCAPES)}'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
            return f"{kind} '{value}'"
        case date():
            return f"DATE '{value}'"
