"""Draws a laid-out graph."""

from xml.etree.ElementTree import Element

from headrace.pipeline.page.element import element
from headrace.pipeline.page.graph import Graph, Node
from headrace.pipeline.page.layout import HEIGHT, WIDTH, Layout

_NAME_CHARACTERS, _LINE_CHARACTERS = 25, 31
"""How much text a box has room for, at the sizes that the style sheet sets."""


def draw(graph: Graph, layout: Layout) -> Element:
    """The graph as one `svg`; nodes and edges are numbered as they come."""
    number = {name: place for place, name in enumerate(graph.nodes)}
    edges = [
        element("path", class_="edge", d=layout.paths[a, b], data_a=number[a], data_b=number[b])
        for a, b in graph.edges
    ]
    nodes = [_box(node, number[name], layout.places[name]) for name, node in graph.nodes.items()]
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


def _box(node: Node, number: int, place: tuple[int, int]) -> Element:
    told = [node.name, node.status or "source", node.facts, node.why]
    return element(
        "g",
        element("title", "\n".join(line for line in told if line)),
        element("rect", class_="box", width=WIDTH, height=HEIGHT, rx=9),
        element("rect", class_="mark", width=5, height=HEIGHT - 18, x=8, y=9, rx=2),
        element("text", _cut(node.name, _NAME_CHARACTERS), class_="name", x=22, y=21),
        element("text", _cut(node.facts, _LINE_CHARACTERS), class_="line", x=22, y=37),
        element("text", _cut(node.why, _LINE_CHARACTERS), class_="line why", x=22, y=52),
        class_=f"node {node.look}",
        data_n=number,
        transform=f"translate({place[0]} {place[1]})",
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
