"""`headrace lineage`: where the columns of a view come from."""

from typing import Annotated, Any

import typer
from rich.tree import Tree

from headrace.cli.console import plain_console, print_json
from headrace.cli.option import AsJson, ProjectFolder
from headrace.errors import InvalidArgumentError


def lineage(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to ask about.")],
    project: ProjectFolder = ".",
    *,
    as_json: AsJson = False,
) -> None:
    """Show what a view reads, how it joins, and which columns each of its columns is made of.

    [dim]headrace lineage revenue_by_city shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    bundle = Project.load(project).plan()
    if view not in bundle.views:
        reason = f"there is no view {view}; there are {', '.join(bundle.order)}"
        raise InvalidArgumentError(argument="VIEW", reason=reason)
    found = bundle[view]
    if as_json:
        print_json(found.lineage)
    else:
        plain_console().print(_tree(found))


def _tree(view: Any) -> Tree:
    tree = Tree(view.name)
    if view.lineage is None:
        tree.add(f"not planned: {view.unplanned}")
        return tree
    columns = tree.add("columns")
    for column in view.lineage.columns:
        columns.add(f"{column.name} <- {', '.join(column.sources) or 'a constant'}")
    scans = tree.add("scans")
    for scan in view.lineage.scans:
        node = scans.add(f"{scan.relation} ({', '.join(scan.columns)})")
        for condition in scan.filters:
            node.add(f"where {condition}")
    for join in view.lineage.joins:
        keys = ", ".join(f"{left} = {right}" for left, right in join.keys)
        tree.add(f"{join.kind} join on {keys or join.condition or 'nothing'}")
    for aggregate in view.lineage.aggregates:
        by = f" by {', '.join(aggregate.keys)}" if aggregate.keys else ""
        tree.add(f"aggregates {', '.join(aggregate.measures)}{by}")
    for window in view.lineage.windows:
        tree.add(f"window {window.function} ordered by {', '.join(window.order_by) or 'nothing'}")
    return tree
