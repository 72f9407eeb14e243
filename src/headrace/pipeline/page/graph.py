"""What is drawn: sources and views, who reads whom, and how each stands."""

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
from headrace.pipeline.sources.pin import PinOrigin, SourcePin

Edge: TypeAlias = tuple[str, str]
"""From what is read to the view that reads it."""


_PINNED = {
    PinOrigin.NEWEST: "the newest version",
    PinOrigin.PROJECT: "pinned by the project",
    PinOrigin.REQUEST: "pinned by request",
    PinOrigin.MISSING: "missing, so it is empty",
}


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One source or view, as a box with three short lines."""

    name: str
    status: Status | None = None
    """How a view stands; None for a source."""
    facts: str = ""
    """What it is, in a few words."""
    why: str = ""
    """Why it stands as it does."""

    @property
    def look(self) -> str:
        """The class of its box, and so its colour."""
        return "source" if self.status is None else self.status.look


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes, each behind all that it reads, and the edges between them."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]


def planned_graph(
    views: Mapping[str, ViewPlan], pins: Mapping[str, SourcePin], stories: Mapping[str, Story]
) -> Graph:
    """The graph of a plan.

    Args:
        views: The planned views, in the order in which they run.
        pins: The sources that they read.
        stories: What is known of each view's runs.
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
    """The graph of a project as it is written, without a plan.

    Raises:
        InvalidViewError: a query cannot be read.
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
        kept = _kept(views[name].header.materialise)
        nodes.append(Node(name=name, status=Status.NEVER_RUN, facts=kept))
    return make_graph(nodes, reads)


def make_graph(nodes: list[Node], reads: Mapping[str, tuple[str, ...]]) -> Graph:
    """Nodes with the edges that follow from what each view reads."""
    named = {node.name: node for node in nodes}
    return Graph(
        nodes=named,
        edges=tuple(
            (read, name) for name in named for read in reads.get(name, ()) if read in named
        ),
    )


def _source_facts(pin: SourcePin) -> str:
    return pin.kind if pin.version is None else f"{pin.kind} · version {pin.version}"


def _view_facts(view: ViewPlan) -> str:
    kept, total = (
        sum(getattr(unit, name) for unit in view.units) for name in ("files_kept", "files_total")
    )
    files = f"{kept} of {total} files" if kept < total else f"{total} file{'s' * (total > 1)}"
    return " · ".join([_kept(view.header.materialise), *([files] if total else [])])


def _kept(policy: Materialise) -> str:
    return "in place" if policy is Materialise.NONE else policy.value
