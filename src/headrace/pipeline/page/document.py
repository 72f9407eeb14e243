"""The page itself: one HTML file that needs nothing else.

Its policy lets only its own style sheet and script in, by their hashes, and nothing from any
network; so even a text that got through unescaped could do nothing.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from string import Template
from typing import Any

import msgspec

from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.element import element, markup
from headrace.pipeline.page.graph import Graph, planned_graph
from headrace.pipeline.page.layout import Layout, lay_out
from headrace.pipeline.page.neighbourhood import Neighbourhoods
from headrace.pipeline.page.panel import source_panel, view_panel
from headrace.pipeline.page.resource import resource
from headrace.pipeline.page.story import NO_STORY, Status, Story
from headrace.pipeline.page.svg import draw
from headrace.pipeline.sources.pin import SourcePin

_SMALL = 60
"""Up to so many nodes the page opens with the whole graph, else with a neighbourhood."""
_STEPS, _FAN = 2, 10


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What stands at the top of the page."""

    project: str
    description: str = ""
    subtitle: str = ""


def render_page(
    heading: Heading,
    views: Mapping[str, ViewPlan],
    pins: Mapping[str, SourcePin],
    stories: Mapping[str, Story],
) -> str:
    """The whole page.

    Args:
        heading: Its title.
        views: The planned views, in the order in which they run.
        pins: The sources that they read.
        stories: What is known of each view's runs.
    """
    graph = planned_graph(views, pins, stories)
    whole = lay_out(graph)
    style = resource("graph.css") + resource("page.css")
    script = resource("page.js")
    return Template(resource("page.html")).substitute(
        title=markup(element("title", heading.project)),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        style=style,
        heading=_heading(heading),
        legend=_legend(graph),
        svg=markup(draw(graph, whole)),
        panels=_panels(graph, views, pins, stories),
        data=_json(_data(graph, whole, views)),
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
        element("span", f"{count:,} {status}", class_=f"pill {status.look}")
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
    made = (
        view_panel(views[name], stories.get(name, NO_STORY), read_by=read_by[name])
        if name in views
        else source_panel(pins[name], read_by=read_by[name])
        for name in graph.nodes
    )
    return "\n".join(
        markup(element("template", panel, id=f"panel-{number}"))
        for number, panel in enumerate(made)
    )


def _data(graph: Graph, whole: Layout, views: Mapping[str, ViewPlan]) -> dict[str, Any]:
    """What the script needs: names, words to search for, and where boxes go."""
    cut = Neighbourhoods(graph, steps=_STEPS, fan=_FAN)
    number = {name: place for place, name in enumerate(graph.nodes)}
    edge_number = {edge: place for place, edge in enumerate(graph.edges)}

    def picture(layout: Layout) -> dict[str, Any]:
        return {
            "size": [layout.width, layout.height],
            "nodes": [[number[name], x, y] for name, (x, y) in layout.places.items()],
            "edges": [[edge_number[edge], path] for edge, path in layout.paths.items()],
        }

    return {
        "names": list(graph.nodes),
        "words": [_words(name, views) for name in graph.nodes],
        "opensWhole": len(graph.nodes) <= _SMALL,
        "whole": picture(whole),
        "near": [
            {**picture(lay_out(cut.around(name))), "more": cut.left_out(name)}
            for name in graph.nodes
        ],
    }


def _words(name: str, views: Mapping[str, ViewPlan]) -> str:
    """What a search finds a node by: its name, description and columns."""
    if name not in views:
        return name.casefold()
    view = views[name]
    columns = () if view.lineage is None else (column.name for column in view.lineage.columns)
    return " ".join([name, view.header.description, *columns]).casefold()


def _json(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element that holds it."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
