"""`headrace lineage`: shows where the columns of a view come from."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.tree import Tree

from headrace.cli.console import print_json, print_tree
from headrace.cli.option import AsJson, ProjectFolder
from headrace.errors import InvalidArgumentError


def lineage(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The name of the view.")],
    project: ProjectFolder = ".",
    *,
    as_json: AsJson = False,
) -> None:
    """Show which columns each column of a view is computed from, and what selects its rows.

    It also shows its scans, joins, filters, aggregates, windows and all of its expressions. A view
    that DataFusion cannot plan is read from its text, and says so.

    [dim]headrace lineage revenue_by_city shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    bundle = Project.load(project).plan()
    if view not in bundle.views:
        reason = f"there is no view {view}; there are {', '.join(bundle.order)}"
        raise InvalidArgumentError(argument="VIEW", reason=reason)
    plan, roots = bundle[view], bundle.ancestry(view)
    if as_json:
        facts = plan.lineage and {**msgspec.to_builtins(plan.lineage), "roots": roots}
        print_json(facts)
    else:
        print_tree(_tree(plan, roots))


def _tree(view: Any, roots: Any) -> Tree:
    tree = Tree(view.name)
    lineage = view.lineage
    if lineage is None:
        tree.add(f"not known before it runs: {view.unplanned}")
        return tree
    if lineage.origin == "text":
        reason = view.unplanned or "it generates rows, which its plan does not represent"
        tree.add(f"from the text, which may name more than is needed: {reason}")
    _add_columns(tree.add("columns"), lineage, roots)
    if lineage.rows:
        tree.add(f"rows are decided by {', '.join(lineage.rows)}")
    scans = tree.add("scans")
    for scan in lineage.scans:
        node = scans.add(f"{scan.relation} ({', '.join(scan.columns)})")
        for condition in scan.filters:
            node.add(f"where {condition}")
    for step in _steps(lineage):
        tree.add(step)
    expressions = tree.add("expressions")
    for expression in lineage.expressions:
        sources = ", ".join(expression.sources) or "a constant"
        expressions.add(f"{expression.kind.value}: {expression.text} <- {sources}")
    return tree


def _add_columns(node: Tree, lineage: Any, roots: Any) -> None:
    for column in lineage.columns:
        named = node.add(f"{column.name} <- {', '.join(column.sources) or 'a constant'}")
        root_columns = roots.columns[column.name] if roots is not None else column.sources
        if root_columns != column.sources:
            named.add(f"in the sources: {', '.join(root_columns) or 'a constant'}")


def _steps(lineage: Any) -> Iterator[str]:
    for join in lineage.joins:
        keys = ", ".join(f"{left} = {right}" for left, right in join.keys)
        yield f"{join.kind} join on {keys or join.condition or 'nothing'}"
    for condition in lineage.filters:
        yield f"filters by {condition}"
    for aggregate in lineage.aggregates:
        by = f" by {', '.join(aggregate.keys)}" if aggregate.keys else ""
        yield f"aggregates {', '.join(aggregate.measures)}{by}"
    for window in lineage.windows:
        partition, order = (", ".join(keys) for keys in (window.partition_by, window.order_by))
        yield (
            f"window {window.function} partitioned by {partition or 'nothing'}, "
            f"ordered by {order or 'nothing'}"
        )
