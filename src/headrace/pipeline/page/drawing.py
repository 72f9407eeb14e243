"""Draws a graph as SVG: for the page, and by itself for notebooks.

A graph and the positions of its nodes enter; SVG elements or a fragment of HTML leave.
"""

from xml.etree.ElementTree import Element

from headrace.pipeline.page.element import element, markup, resource
from headrace.pipeline.page.layout import HEIGHT, WIDTH, Layout, lay_out
from headrace.pipeline.page.view_graph import Graph, Node

_NAME_CHARACTERS, _LINE_CHARACTERS = 25, 31
"""How much text fits into a box, at the font sizes of the style sheet."""
_MAX_NOTEBOOK_NODES = 300
"""Larger graphs need the page, which shows them part by part."""


def draw(graph: Graph, layout: Layout) -> Element:
    """Return the graph as one `svg` element; nodes are numbered in their order."""
    numbers = {name: number for number, name in enumerate(graph.nodes)}
    edges = [
        element("path", class_="edge", d=layout.paths[a, b], data_a=numbers[a], data_b=numbers[b])
        for a, b in graph.edges
    ]
    nodes = [_box(node, numbers[name], layout.corners[name]) for name, node in graph.nodes.items()]
    return element(
        "svg",
        element("g", *edges, class_="edges"),
        element("g", *nodes, class_="nodes"),
        xmlns="http://www.w3.org/2000/svg",
        class_="headrace-graph",
        viewBox=f"0 0 {layout.width} {layout.height}",
        width=layout.width,
        height=layout.height,
        role="img",
        aria_label="What reads what",
    )


def notebook_html(graph: Graph, *, title: str, note: str = "") -> str:
    """Return a heading and the graph in a scrolling box, without a script."""
    views = sum(node.status is not None for node in graph.nodes.values())
    counts = f"{views:,} views, {len(graph.nodes) - views:,} sources"
    head = element("p", element("b", title), f" · {counts}{f' · {note}' if note else ''}")
    style = element("style", resource("graph.css"))
    return markup(element("div", style, head, _picture(graph), style="overflow:auto"))


def _picture(graph: Graph) -> Element:
    if len(graph.nodes) > _MAX_NOTEBOOK_NODES:
        return element("p", "The graph is large: headrace docs writes a page to browse it.")
    return draw(graph, lay_out(graph))


def _box(node: Node, number: int, corner: tuple[int, int]) -> Element:
    lines = [node.name, node.status or "source", node.facts, node.why]
    return element(
        "g",
        element("title", "\n".join(line for line in lines if line)),
        element("rect", class_="box", width=WIDTH, height=HEIGHT, rx=9),
        element("rect", class_="mark", width=5, height=HEIGHT - 18, x=8, y=9, rx=2),
        element("text", _truncated(node.name, _NAME_CHARACTERS), class_="name", x=22, y=21),
        element("text", _truncated(node.facts, _LINE_CHARACTERS), class_="line", x=22, y=37),
        element("text", _truncated(node.why, _LINE_CHARACTERS), class_="line why", x=22, y=52),
        class_=f"node {node.style_class}",
        data_n=number,
        transform=f"translate({corner[0]} {corner[1]})",
    )


def _truncated(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else text[: max_characters - 1].rstrip() + "…"
