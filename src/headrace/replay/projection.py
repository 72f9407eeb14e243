"""Which columns of a checkpoint a scan needs, and no more."""

from headrace.expr.node import BoundPredicate
from headrace.expr.reference import evaluated_columns, statistics_leaves

ADD_FIELDS = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "stats",
    "tags",
    "deletionVector",
)
"""The fields of an add that a live file is made of."""


def add_columns(
    projection: tuple[str, ...], *, predicate: BoundPredicate | None
) -> tuple[str, ...]:
    """The Parquet columns for these fields of an add, and for what the predicate looks at."""
    fields = ["path", "deletionVector", *projection]
    if predicate is not None:
        if any(column.is_partition for column in evaluated_columns(predicate)):
            fields.append("partitionValues")
        leaves = statistics_leaves(predicate)
        if leaves:
            fields.append("stats")
            fields += _parsed_statistics(leaves)
    return tuple(f"add.{name}" for name in dict.fromkeys(fields))


def _parsed_statistics(leaves: tuple[tuple[str, ...], ...]) -> list[str]:
    if any("." in name for leaf in leaves for name in leaf):
        return ["stats_parsed"]  # a dotted path cannot say which dot is a name's own
    kinds = ("minValues", "maxValues", "nullCount")
    return [
        "stats_parsed.numRecords",
        *(f"stats_parsed.{kind}.{'.'.join(leaf)}" for leaf in leaves for kind in kinds),
    ]
