"""Assigns nodes to layers, left to right, each to the right of everything that it reads.

An edge that spans several layers passes through a bend in each of them, which takes up space like
a node. All long edges out of one node share their bends: they start as one line and split later.
"""

from collections.abc import Sequence

import msgspec

from headrace.pipeline.page.view_graph import Edge


class Layers(msgspec.Struct, kw_only=True):
    """Layers of nodes and bends, both numbered; links connect only adjacent layers."""

    rows: list[list[int]]
    """The nodes and bends of each layer, top to bottom; layers are left to right."""
    left_links: list[list[int]]
    """The links of each node or bend into the layer to its left."""
    right_links: list[list[int]]
    """The links of each node or bend into the layer to its right."""
    nodes: int
    """The number of nodes; higher numbers are bends."""
    routes: dict[tuple[int, int], tuple[int, ...]]
    """The bends that each edge passes through."""

    def is_bend(self, item: int) -> bool:
        """Return whether a number is a bend."""
        return item >= self.nodes


def layer(names: Sequence[str], edges: Sequence[Edge]) -> Layers:
    """Assign nodes to layers.

    Args:
        names: The nodes, each after everything that it reads.
        edges: From each node to its readers.
    """
    numbers = {name: number for number, name in enumerate(names)}
    pairs = sorted({(numbers[a], numbers[b]) for a, b in edges})
    ranks = _ranks(len(names), pairs)
    layers = Layers(
        rows=[[] for _ in range(max(ranks, default=-1) + 1)],
        left_links=[[] for _ in names],
        right_links=[[] for _ in names],
        nodes=len(names),
        routes={},
    )
    for node, rank in enumerate(ranks):
        layers.rows[rank].append(node)
    bends: dict[int, list[int]] = {}
    for a, b in pairs:
        span = ranks[b] - ranks[a] - 1
        chain = bends.setdefault(a, [])
        while len(chain) < span:
            chain.append(_add_bend(layers, ranks[a] + len(chain) + 1, (chain or [a])[-1]))
        _link(layers, chain[span - 1] if span else a, b)
        layers.routes[a, b] = tuple(chain[:span])
    return layers


def _ranks(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the longest path to each node; a node that reads nothing precedes its first reader."""
    ranks, reads, read_by = [0] * count, [0] * count, [count] * count
    for a, b in sorted(pairs, key=lambda pair: pair[1]):
        ranks[b] = max(ranks[b], ranks[a] + 1)
        reads[b] += 1
    for a, b in pairs:
        read_by[a] = min(read_by[a], ranks[b])
    return [
        read_by[node] - 1 if not reads[node] and read_by[node] < count else rank
        for node, rank in enumerate(ranks)
    ]


def _add_bend(layers: Layers, rank: int, previous: int) -> int:
    """Add a bend to a layer, link it to a node or bend to its left, and return its number."""
    bend = len(layers.left_links)
    layers.left_links.append([])
    layers.right_links.append([])
    layers.rows[rank].append(bend)
    _link(layers, previous, bend)
    return bend


def _link(layers: Layers, a: int, b: int) -> None:
    layers.right_links[a].append(b)
    layers.left_links[b].append(a)
