"""The lineage report: what a view reads, and where its columns come from.

`PlanReader` builds it from a plan, `text_lineage` from the text of a view that has no plan.
"""

from enum import StrEnum

import msgspec


class LineageOrigin(StrEnum):
    """What a report was derived from."""

    PLAN = "plan"
    """The plan: exact."""
    TEXT = "text"
    """The text alone: nothing is missing, but a listed column may not be needed."""


class ExpressionKind(StrEnum):
    """The role of an expression."""

    PROJECTION = "projection"
    FILTER = "filter"
    JOIN = "join"
    GROUP = "group"
    AGGREGATE = "aggregate"
    WINDOW = "window"
    ORDER = "order"


class ExpressionLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One expression, with the columns and functions that it uses."""

    kind: ExpressionKind
    text: str
    sources: tuple[str, ...]
    functions: tuple[str, ...] = ()


class ScanLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One scan of a source or of an upstream view."""

    relation: str
    columns: tuple[str, ...]
    filters: tuple[str, ...]
    """The conditions that were pushed down to it, as text."""


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
    """The Substrait type of each measure's argument."""


class WindowLineage(msgspec.Struct, frozen=True, kw_only=True):
    """One window function."""

    function: str
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]


class ColumnLineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where a column of the result comes from: the `relation.column` names it is computed from."""

    name: str
    sources: tuple[str, ...]


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The full report on one view.

    A column of the result depends on its own sources and on those of `rows`, and on nothing else.
    """

    scans: tuple[ScanLineage, ...]
    joins: tuple[JoinLineage, ...]
    aggregates: tuple[AggregateLineage, ...]
    windows: tuple[WindowLineage, ...]
    functions: tuple[str, ...]
    columns: tuple[ColumnLineage, ...]
    rows: tuple[str, ...] = ()
    """The columns that decide which rows there are: those of filters, joins, groups and limits."""
    filters: tuple[str, ...] = ()
    """The conditions that could not be pushed down to a scan, such as HAVING."""
    expressions: tuple[ExpressionLineage, ...] = ()
    required: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The columns that each relation must have, over all scans."""
    origin: LineageOrigin = LineageOrigin.PLAN
