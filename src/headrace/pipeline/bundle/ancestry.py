"""The sources behind a view, through all views that it reads."""

from collections.abc import Mapping

import msgspec

from headrace.pipeline.bundle.view_plan import ViewPlan


class Ancestry(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of sources that a view depends on."""

    columns: dict[str, tuple[str, ...]]
    """By column of the view, the `source.column` of each that it is made of."""
    rows: tuple[str, ...]
    """The `source.column` of each that decides which rows there are, in it or further up."""


def trace_ancestry(views: Mapping[str, ViewPlan], view: str) -> Ancestry | None:
    """Follow the lineage of a view up to the sources; None if a view on the way has none.

    Args:
        views: The plans of all views.
        view: The view to ask about.
    """
    lineage = views[view].lineage
    if lineage is None:
        return None
    upstream: dict[str, Ancestry] = {}
    for name in lineage.required:
        if name in views:
            found = trace_ancestry(views, name)
            if found is None:
                return None
            upstream[name] = found
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
        for name, found in upstream[relation].columns.items():
            if name.casefold() == column:
                roots |= set(found)
    return roots
