"""Nodes in layers, left to right, each to the right of all that it reads.

An edge that spans several layers passes through each of them by a bend, which takes up room as a
node does. All long edges out of one node share its bends: they leave as one line and part later.
"""

from collections.abc import Sequence

import msgspec

from headrace.pipeline.page.graph import Edge


class Layers(msgspec.Struct, kw_only=True):
    """Layers of nodes and bends, both as numbers; links only join neighbouring layers."""

    rows: list[list[int]]
    """By layer, from the left: what stands in it, from the top."""
    left: list[list[int]]
    """By node or bend: what it is linked with in the layer to its left."""
    right: list[list[int]]
    nodes: int
    """Numbers from here on are bends."""
    routes: dict[tuple[int, int], tuple[int, ...]]
    """By edge, the bends that it passes."""

    def is_bend(self, item: int) -> bool:
        """Whether a number stands for no node."""
        return item >= self.nodes


def layer(names: Sequence[str], edges: Sequence[Edge]) -> Layers:
    """Put nodes into layers.

    Args:
        names: The nodes, each behind all that it reads.
        edges: Who is read by whom.
    """
    number = {name: place for place, name in enumerate(names)}
    pairs = sorted({(number[a], number[b]) for a, b in edges})
    ranks = _ranks(len(names), pairs)
    layers = Layers(
        rows=[[] for _ in range(max(ranks, default=-1) + 1)],
        left=[[] for _ in names],
        right=[[] for _ in names],
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
    """The longest way to each node; what reads nothing stands right before its first reader."""
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


def _add_bend(layers: Layers, rank: int, before: int) -> int:
    bend = len(layers.left)
    layers.left.append([])
    layers.right.append([])
    layers.rows[rank].append(bend)
    _link(layers, before, bend)
    return bend


def _link(layers: Layers, a: int, b: int) -> None:
    layers.right[a].append(b)
    layers.left[b].append(a)
