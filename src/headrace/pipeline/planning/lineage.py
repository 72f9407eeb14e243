"""What a view reads and where its columns come from: the report.

`PlanReader` writes it from a plan.
"""

import msgspec


class ScanLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One scan of a source or of an upstream view."""

    relation: str
    columns: tuple[str, ...]
    filters: tuple[str, ...]
    """What was pushed down to it, as text."""


class JoinLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One join: its kind, and the pairs of columns that must be equal."""

    kind: str
    keys: tuple[tuple[str, str], ...]
    condition: str


class AggregateLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One aggregation."""

    keys: tuple[str, ...]
    measures: tuple[str, ...]
    types: tuple[str, ...]
    """The type of what each measure is over, as Substrait calls it."""


class WindowLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One window function."""

    function: str
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]


class ColumnLineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where a column of the result comes from: `relation.column` of each that it is made of."""

    name: str
    sources: tuple[str, ...]


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report on one view."""

    scans: tuple[ScanLineage, ...]
    joins: tuple[JoinLineage, ...]
    aggregates: tuple[AggregateLineage, ...]
    windows: tuple[WindowLineage, ...]
    functions: tuple[str, ...]
    columns: tuple[ColumnLineage, ...]
