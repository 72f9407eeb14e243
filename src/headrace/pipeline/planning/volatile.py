"""Calls that give another value at another time, or in another run."""

from sqlglot import exp

_CLOCKS = (
    *(exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime),
    exp.Localtimestamp,
)
_RANDOM = (exp.Rand, exp.Randn, exp.Uuid)
_RANDOM_NAMES = frozenset(
    {
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name", "random"),
        *("input_file_block_start", "input_file_block_length", "randstr", "uniform", "shuffle"),
        *("current_user", "session_user", "user", "current_catalog", "current_database"),
        *("current_schema", "current_timezone", "version", "reflect", "java_method"),
    }
)


def is_clock(node: exp.Expr) -> bool:
    """Whether a node is the time of the run: each run has another one."""
    return isinstance(node, _CLOCKS) or _called(node) == "now"


def is_clock_date(node: exp.Expr) -> bool:
    """Whether it is only the day."""
    return isinstance(node, exp.CurrentDate)


def is_random(node: exp.Expr) -> bool:
    """Whether a node depends on chance, or on where and as whom a run takes place."""
    return isinstance(node, _RANDOM) or _called(node) in _RANDOM_NAMES


def _called(node: exp.Expr) -> str:
    return node.name.casefold() if isinstance(node, exp.Anonymous) else ""
