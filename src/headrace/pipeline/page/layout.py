"""Lays out a graph: a graph enters; the positions of boxes and the paths of edges leave.

The steps are those of layered graph drawing: `layering` assigns columns, `ordering` reduces
crossings within a column, and `placing` sets the heights.
"""

import msgspec

from headrace.pipeline.page.layering import layer
from headrace.pipeline.page.ordering import order
from headrace.pipeline.page.placing import vertical_centres
from headrace.pipeline.page.view_graph import Edge, Graph

WIDTH, HEIGHT = 212, 62
"""The size of a box."""
_GAP_X, _GAP_Y, _BEND, _MARGIN = 74, 16, 18, 14


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Positions in pixels, from the upper left corner."""

    width: int
    height: int
    corners: dict[str, tuple[int, int]]
    """The upper left corner of each box."""
    paths: dict[Edge, str]
    """The SVG path of each edge."""


def lay_out(graph: Graph) -> Layout:
    """Lay out a graph in layers from left to right."""
    names = list(graph.nodes)
    layers = layer(names, graph.edges)
    order(layers)
    middles = vertical_centres(layers, node_height=HEIGHT + _GAP_Y, bend_height=_BEND)
    xs = [0] * len(middles)
    for column, row in enumerate(layers.rows):
        for item in row:
            xs[item] = _MARGIN + column * (WIDTH + _GAP_X)
    points = [(x, round(_MARGIN + middle)) for x, middle in zip(xs, middles, strict=True)]
    return Layout(
        width=len(layers.rows) * (WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN,
        height=max((y for _, y in points), default=0) + HEIGHT // 2 + _MARGIN,
        corners={name: (points[i][0], points[i][1] - HEIGHT // 2) for i, name in enumerate(names)},
        paths={
            (names[a], names[b]): _path([points[item] for item in (a, *bends, b)])
            for (a, b), bends in layers.routes.items()
        },
    )


def _path(points: list[tuple[int, int]]) -> str:
    """Return a path that is horizontal within layers and curves between them."""
    x, y = points[0]
    parts = [f"M{x + WIDTH} {y}"]
    for x_next, y_next in points[1:]:
        start, middle = x + WIDTH, (x + WIDTH + x_next) // 2
        if start != points[0][0] + WIDTH:
            parts.append(f"H{start}")
        parts.append(f"C{middle} {y} {middle} {y_next} {x_next} {y_next}")
        x, y = x_next, y_next
    return "".join(parts)
