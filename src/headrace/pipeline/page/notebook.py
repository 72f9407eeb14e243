"""A picture for notebooks: the graph alone, without a script."""

from xml.etree.ElementTree import Element

from headrace.pipeline.page.element import element, markup
from headrace.pipeline.page.graph import Graph
from headrace.pipeline.page.layout import lay_out
from headrace.pipeline.page.resource import resource
from headrace.pipeline.page.svg import draw

_MOST = 300
"""Larger graphs are for the page, which shows them part by part."""


def notebook_html(graph: Graph, *, title: str, note: str = "") -> str:
    """A heading and the graph, in a box that scrolls."""
    views = sum(node.status is not None for node in graph.nodes.values())
    told = f"{views:,} views, {len(graph.nodes) - views:,} sources"
    head = element("p", element("b", title), f" · {told}{f' · {note}' if note else ''}")
    return markup(element("div", _style(), head, *_picture(graph), style="overflow:auto"))


def _style() -> Element:
    return element("style", resource("graph.css"))


def _picture(graph: Graph) -> list[Element]:
    if len(graph.nodes) > _MOST:
        return [element("p", "The graph is large: headrace docs writes a page to walk it.")]
    return [draw(graph, lay_out(graph))]
