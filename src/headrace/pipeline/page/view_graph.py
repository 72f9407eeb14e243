"""The graph that is drawn: sources and views with their status, and which reads which.

A plan, or the SQL of a project that is not planned, enters; nodes and edges leave.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from headrace.pipeline.analysis.graph import topological_order
from headrace.pipeline.analysis.query import parse_query
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.story import NO_STORY, Status, Story
from headrace.pipeline.project.header import Materialise
from headrace.pipeline.project.manifest import SourceSpec
from headrace.pipeline.project.view import SqlView, View
from headrace.pipeline.sources.source_pin import PinOrigin, SourcePin

Edge: TypeAlias = tuple[str, str]
"""From a source or view to its reader."""


_PINNED = {
    PinOrigin.NEWEST: "the newest version",
    PinOrigin.PROJECT: "pinned by the project",
    PinOrigin.REQUEST: "pinned by request",
    PinOrigin.MISSING: "missing, so it is empty",
}


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A source or view, drawn as a box with three lines."""

    name: str
    status: Status | None = None
    """The status of a view; None for a source."""
    facts: str = ""
    """How it is stored or materialised, in a few words."""
    why: str = ""
    """The reason for the status."""

    @property
    def style_class(self) -> str:
        """The style class of its box."""
        return "source" if self.status is None else self.status.style_class


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes, each after everything that it reads, and their edges."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]


def planned_graph(
    views: Mapping[str, ViewPlan], pins: Mapping[str, SourcePin], stories: Mapping[str, Story]
) -> Graph:
    """Return the graph of a plan.

    Args:
        views: The planned views, in the order in which they run.
        pins: The sources that they read.
        stories: The run history of each view.
    """
    sources = [
        Node(name=name, facts=_source_facts(pin), why=_PINNED[pin.origin])
        for name, pin in sorted(pins.items())
    ]
    planned = [
        Node(
            name=name,
            status=story.status,
            facts=_view_facts(view),
            why=story.why,
        )
        for name, view in views.items()
        for story in (stories.get(name, NO_STORY),)
    ]
    return make_graph([*sources, *planned], {name: view.reads for name, view in views.items()})


def written_graph(views: Mapping[str, View], sources: Mapping[str, SourceSpec]) -> Graph:
    """Return the graph of a project from its SQL, without planning it.

    Raises:
        InvalidViewError: a query cannot be parsed.
        ViewCycleError: views read each other in a circle.
    """
    reads = {
        name: parse_query(view.sql, file=view.file).relations
        if isinstance(view, SqlView)
        else tuple(map(str.casefold, view.reads))
        for name, view in views.items()
    }
    nodes = [Node(name=name, facts=spec.kind) for name, spec in sorted(sources.items())]
    for name in topological_order(reads):
        facts = _storage(views[name].header.materialise)
        nodes.append(Node(name=name, status=Status.NEVER_RUN, facts=facts))
    return make_graph(nodes, reads)


def make_graph(nodes: list[Node], reads: Mapping[str, tuple[str, ...]]) -> Graph:
    """Return a graph with an edge for each relation that a view reads."""
    nodes_by_name = {node.name: node for node in nodes}
    return Graph(
        nodes=nodes_by_name,
        edges=tuple(
            (relation, name)
            for name in nodes_by_name
            for relation in reads.get(name, ())
            if relation in nodes_by_name
        ),
    )


def _source_facts(pin: SourcePin) -> str:
    return pin.kind if pin.version is None else f"{pin.kind} · version {pin.version}"


def _view_facts(view: ViewPlan) -> str:
    files_kept, files_total = (
        sum(getattr(unit, name) for unit in view.units) for name in ("files_kept", "files_total")
    )
    files = (
        f"{files_kept} of {files_total} files"
        if files_kept < files_total
        else f"{files_total} file{'s' * (files_total > 1)}"
    )
    return " · ".join([_storage(view.header.materialise), *([files] if files_total else [])])


def _storage(policy: Materialise) -> str:
    return "in place" if policy is Materialise.NONE else policy.value
