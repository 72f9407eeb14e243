"""Renders the page: plans, pins and run histories enter, one self-contained HTML file leaves.

Its content security policy allows only its own style sheet and script, by hash, and no network
access, so that even unescaped text could do no harm.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from string import Template
from typing import Any

import msgspec

from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.drawing import draw
from headrace.pipeline.page.element import element, markup, resource
from headrace.pipeline.page.layout import Layout, lay_out
from headrace.pipeline.page.neighbourhood import Neighbourhoods
from headrace.pipeline.page.panel import source_panel, view_panel
from headrace.pipeline.page.story import NO_STORY, Status, Story
from headrace.pipeline.page.view_graph import Graph, planned_graph
from headrace.pipeline.sources.source_pin import SourcePin

_SMALL_GRAPH_NODES = 60
"""A larger graph opens with the neighbourhood of a node instead of the whole graph."""
_STEPS, _FAN = 2, 10
"""The size of a neighbourhood."""


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """The heading of the page."""

    project: str
    description: str = ""
    subtitle: str = ""


def render_page(
    heading: Heading,
    views: Mapping[str, ViewPlan],
    pins: Mapping[str, SourcePin],
    stories: Mapping[str, Story],
) -> str:
    """Return the page as HTML.

    Args:
        heading: The heading.
        views: The planned views, in the order in which they run.
        pins: The sources that they read.
        stories: The run history of each view.
    """
    graph = planned_graph(views, pins, stories)
    layout = lay_out(graph)
    style = resource("graph.css") + resource("page.css")
    script = resource("page.js")
    return Template(resource("page.html")).substitute(
        title=markup(element("title", heading.project)),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        style=style,
        heading=_heading(heading),
        legend=_legend(graph),
        svg=markup(draw(graph, layout)),
        panels=_panels(graph, views, pins, stories),
        data=_json(_script_data(graph, layout, views)),
        script=script,
    )


def _heading(heading: Heading) -> str:
    return "".join(
        markup(element(tag, text, class_=look))
        for tag, text, look in (
            ("h1", heading.project, "title"),
            ("p", heading.description, "about"),
            ("p", heading.subtitle, "subtitle"),
        )
        if text
    )


def _legend(graph: Graph) -> str:
    counts = dict.fromkeys(Status, 0)
    for node in graph.nodes.values():
        if node.status is not None:
            counts[node.status] += 1
    sources = len(graph.nodes) - sum(counts.values())
    pills = [
        element("span", f"{count:,} {status}", class_=f"pill {status.style_class}")
        for status, count in counts.items()
        if count
    ]
    return markup(
        element(
            "div",
            *pills,
            element(
                "span", f"{sources:,} source{'' if sources == 1 else 's'}", class_="pill source"
            ),
            class_="legend",
        )
    )


def _panels(
    graph: Graph,
    views: Mapping[str, ViewPlan],
    pins: Mapping[str, SourcePin],
    stories: Mapping[str, Story],
) -> str:
    read_by: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for a, b in graph.edges:
        read_by[a].append(b)
    panels = (
        view_panel(views[name], stories.get(name, NO_STORY), read_by=read_by[name])
        if name in views
        else source_panel(pins[name], read_by=read_by[name])
        for name in graph.nodes
    )
    return "\n".join(
        markup(element("template", panel, id=f"panel-{number}"))
        for number, panel in enumerate(panels)
    )


def _script_data(graph: Graph, layout: Layout, views: Mapping[str, ViewPlan]) -> dict[str, Any]:
    """Return the data of the script: names, search terms and layouts."""
    neighbourhoods = Neighbourhoods(graph, steps=_STEPS, fan=_FAN)
    node_numbers = {name: number for number, name in enumerate(graph.nodes)}
    edge_numbers = {edge: number for number, edge in enumerate(graph.edges)}

    def picture(shown: Layout) -> dict[str, Any]:
        return {
            "size": [shown.width, shown.height],
            "nodes": [[node_numbers[name], x, y] for name, (x, y) in shown.corners.items()],
            "edges": [[edge_numbers[edge], path] for edge, path in shown.paths.items()],
        }

    return {
        "names": list(graph.nodes),
        "words": [_search_text(name, views) for name in graph.nodes],
        "opensWhole": len(graph.nodes) <= _SMALL_GRAPH_NODES,
        "whole": picture(layout),
        "near": [
            {**picture(lay_out(neighbourhoods.around(name))), "more": neighbourhoods.left_out(name)}
            for name in graph.nodes
        ],
    }


def _search_text(name: str, views: Mapping[str, ViewPlan]) -> str:
    """Return the text that a search matches: name, description and columns."""
    if name not in views:
        return name.casefold()
    view = views[name]
    columns = () if view.lineage is None else (column.name for column in view.lineage.columns)
    return " ".join([name, view.header.description, *columns]).casefold()


def _json(data: dict[str, Any]) -> str:
    """Encode JSON so that it cannot close the script element around it."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
