"""Traces a view's columns to source columns, through all views that it reads.

The lineage of each view names its direct inputs; this follows them to the sources.
"""

from collections.abc import Mapping

import msgspec

from headrace.pipeline.bundle.view_plan import ViewPlan


class Ancestry(msgspec.Struct, frozen=True, kw_only=True):
    """The source columns that a view depends on."""

    columns: dict[str, tuple[str, ...]]
    """The `source.column` names that each column of the view is computed from."""
    rows: tuple[str, ...]
    """The `source.column` names that decide which rows exist, in this view or upstream."""


def trace_ancestry(views: Mapping[str, ViewPlan], view: str) -> Ancestry | None:
    """Trace the lineage of a view to the sources; None if a view on the way has no lineage.

    Args:
        views: The plans of all views.
        view: The view to trace.
    """
    lineage = views[view].lineage
    if lineage is None:
        return None
    upstream: dict[str, Ancestry] = {}
    for name in lineage.required:
        if name in views:
            ancestry = trace_ancestry(views, name)
            if ancestry is None:
                return None
            upstream[name] = ancestry
    rows = set(_roots(lineage.rows, upstream))
    for ancestry in upstream.values():
        rows |= set(ancestry.rows)
    return Ancestry(
        columns={
            column.name: tuple(sorted(_roots(column.sources, upstream)))
            for column in lineage.columns
        },
        rows=tuple(sorted(rows)),
    )


def _roots(sources: tuple[str, ...], upstream: Mapping[str, Ancestry]) -> set[str]:
    roots: set[str] = set()
    for source in sources:
        relation, _, column = source.rpartition(".")
        if relation not in upstream:
            roots.add(source)
            continue
        for name, source_columns in upstream[relation].columns.items():
            if name.casefold() == column:
                roots |= set(source_columns)
    return roots
