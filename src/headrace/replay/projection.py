"""Choose the columns of commits and checkpoints that a scan must read.

The requested fields and the predicate enter; dotted column names leave.
"""

from headrace.expr.node import BoundPredicate
from headrace.expr.reference import evaluated_columns, statistics_paths

ADD_FIELDS = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "stats",
    "tags",
    "deletionVector",
)
"""The fields of an add from which a live file is built."""

ROW_FIELDS = ("baseRowId", "defaultRowCommitVersion", "clusteringProvider")
"""Further fields of an add, of tables with row tracking or clustering."""


KEY_COLUMNS = ("add.path", "add.deletionVector", "remove.path", "remove.deletionVector")
"""The columns that make up the keys of files."""


def commit_columns(
    projection: tuple[str, ...], *, predicate: BoundPredicate | None
) -> tuple[str, ...]:
    """Return the columns to read of commits: keys, the projection, and the predicate's inputs."""
    if set(ADD_FIELDS).issubset(projection):
        return ("add", "remove")
    fields = _fields(projection, predicate)
    return tuple(dict.fromkeys((*(f"add.{name}" for name in fields), *KEY_COLUMNS)))


def add_columns(
    projection: tuple[str, ...], *, predicate: BoundPredicate | None
) -> tuple[str, ...]:
    """Return the columns to read of a checkpoint: no removes, but also parsed statistics."""
    fields = _fields(projection, predicate)
    paths = () if predicate is None else statistics_paths(predicate)
    if paths:
        fields += _parsed_statistics(paths)
    return tuple(f"add.{name}" for name in dict.fromkeys(fields))


def _fields(projection: tuple[str, ...], predicate: BoundPredicate | None) -> list[str]:
    fields = ["path", "deletionVector", *projection]
    if predicate is not None:
        if any(column.is_partition for column in evaluated_columns(predicate)):
            fields.append("partitionValues")
        if statistics_paths(predicate):
            fields.append("stats")
    return fields


def _parsed_statistics(paths: tuple[tuple[str, ...], ...]) -> list[str]:
    if any("." in name for path in paths for name in path):
        return ["stats_parsed"]  # a dotted path would be ambiguous if a name contains a dot
    kinds = ("minValues", "maxValues", "nullCount")
    return [
        "stats_parsed.numRecords",
        *(f"stats_parsed.{kind}.{'.'.join(path)}" for path in paths for kind in kinds),
    ]
