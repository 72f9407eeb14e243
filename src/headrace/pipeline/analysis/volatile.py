"""Finds what returns a different value at another time, in another run, or for another user.

Planning has no Spark to ask, so this is a list; a test compares it with all of Spark's functions.
When a view runs, Spark's own analysed plan is checked as well.
"""

import re
from collections.abc import Mapping

import msgspec
import pyarrow as pa
from sqlglot import exp

_CLOCKS = (
    *(exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime),
    exp.Localtimestamp,
)
_VOLATILE = frozenset(
    {
        *("rand", "randn", "random", "randstr", "uniform", "shuffle", "uuid"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
        *("input_file_block_start", "input_file_block_length"),
        *("localtime", "utc_date", "utc_time", "utc_timestamp"),
        *("current_user", "session_user", "user", "current_catalog", "current_database"),
        *("current_schema", "current_path", "current_timezone", "version"),
        *("reflect", "try_reflect", "java_method"),
    }
)
"""Spark functions that depend on randomness, the clock, file names, the user, the session, or an
arbitrary Java method."""
_BARE = frozenset(
    {
        *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
        *("current_user", "session_user", "user"),
    }
)
"""Functions that Spark also accepts without parentheses if no column has that name."""
_SPECIAL = re.compile(r"\s*(now|today|tomorrow|yesterday)(\s.*)?", re.IGNORECASE)
"""Strings that Spark turns into the time of the run when it casts them to dates or times."""
_Kind = exp.DataType.Type
_TIMES = frozenset(
    {
        *(_Kind.DATE, _Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.TIMESTAMPNTZ, _Kind.TIMESTAMPLTZ),
        _Kind.DATETIME,
    }
)
_TIME_MAKERS = frozenset(
    {"to_timestamp_ntz", "to_timestamp_ltz", "try_to_timestamp", "try_to_date", "try_to_time"}
)
_COMPARISONS = (exp.Binary, exp.Between, exp.In)


class KnownColumns(msgspec.Struct, frozen=True):
    """The columns that a query reads, in lower case."""

    names: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    """The columns that are dates or times."""

    @classmethod
    def of(cls, schemas: Mapping[str, pa.Schema]) -> "KnownColumns":
        """Return the columns of some relations."""
        fields = [field for schema in schemas.values() for field in schema]
        times = (f for f in fields if pa.types.is_date(f.type) or pa.types.is_timestamp(f.type))
        return cls(
            frozenset(field.name.casefold() for field in fields),
            frozenset(field.name.casefold() for field in times),
        )


def is_clock(node: exp.Expr) -> bool:
    """Return whether a node is a call that returns the time of the run, which differs each run."""
    return isinstance(node, _CLOCKS) or "now" in _called(node)


def is_clock_date(node: exp.Expr) -> bool:
    """Return whether a clock call returns only the date."""
    return isinstance(node, exp.CurrentDate)


def is_special_time(node: exp.Expr, columns: KnownColumns | None) -> bool:
    """Return whether a node is a string such as 'now' that becomes a date or a time.

    A cast, a typed literal or a comparison with a date or time does that. If the type of the other
    side is unknown while planning, Spark's plan is checked when the view runs.
    """
    if not isinstance(node, exp.Literal) or not node.is_string or node.parent is None:
        return False
    if _SPECIAL.fullmatch(node.name) is None:
        return False
    parent = node.parent
    if isinstance(parent, exp.Cast):
        return parent.to.this in _TIMES
    if isinstance(parent, _COMPARISONS):
        column_names = {column.name.casefold() for column in parent.find_all(exp.Column)}
        times = frozenset() if columns is None else columns.times
        return bool(column_names & times) or any(map(_is_time, parent.iter_expressions()))
    return isinstance(parent, exp.TsOrDsToDate | exp.StrToUnix) or bool(
        _called(parent) & _TIME_MAKERS
    )


def is_random(node: exp.Expr, columns: KnownColumns | None) -> bool:
    """Return whether a node depends on randomness, or on where or by whom the query is run."""
    if isinstance(node, exp.Column):
        return _is_bare_call(node, columns)
    return bool(_called(node) & _VOLATILE)


def _is_bare_call(node: exp.Column, columns: KnownColumns | None) -> bool:
    """Return whether a name without parentheses is a function, since nothing else has that name."""
    name = node.name.casefold()
    if name not in _BARE or node.table or columns is None or name in columns.names:
        return False
    aliases = node.root().find_all(exp.Alias, exp.TableAlias)
    alias_names = {part for alias in aliases for part in (alias.alias, *alias.alias_column_names)}
    return name not in {part.casefold() for part in alias_names}


def _is_time(node: exp.Expr) -> bool:
    return isinstance(node, (exp.CurrentDate, exp.CurrentTimestamp)) or (
        isinstance(node, exp.Cast) and node.to.this in _TIMES
    )


def _called(node: exp.Expr) -> frozenset[str]:
    """Return the names that a call may have been written with, in lower case."""
    if isinstance(node, exp.Anonymous):
        return frozenset({node.name.casefold()})
    if isinstance(node, exp.Func):
        return frozenset(name.casefold() for name in node.sql_names())
    return frozenset()
