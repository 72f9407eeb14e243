"""Cuts a large graph into the neighbourhoods that the page shows one at a time.

A graph, a node and limits enter; a smaller graph around that node leaves. A whole graph of
hundreds of views is not readable.
"""

from collections.abc import Iterable, Mapping

from headrace.pipeline.page.view_graph import Graph


class Neighbourhoods:
    """The neighbourhoods of the nodes of one graph."""

    def __init__(self, graph: Graph, *, steps: int, fan: int) -> None:
        """Take a graph and the size of neighbourhoods.

        Args:
            graph: The whole graph.
            steps: The number of edges to follow, upstream and downstream.
            fan: The maximum number of nodes that a step adds in one direction.
        """
        self.graph, self.steps, self.fan = graph, steps, fan
        self._reads: dict[str, list[str]] = {name: [] for name in graph.nodes}
        self._read_by: dict[str, list[str]] = {name: [] for name in graph.nodes}
        for a, b in graph.edges:
            self._reads[b].append(a)
            self._read_by[a].append(b)
        self._rank = {name: rank for rank, name in enumerate(graph.nodes)}

    def around(self, name: str) -> Graph:
        """Return a node with what it reads and what reads it, up to `steps` edges away."""
        shown = {name}
        upstream, downstream = [name], [name]
        for _ in range(self.steps):
            upstream = self._step(self._reads, upstream, shown)
            downstream = self._step(self._read_by, downstream, shown)
        names = sorted(shown, key=self._rank.__getitem__)
        edges = ((a, b) for b in names for a in self._reads[b] if a in shown)
        return Graph(nodes={n: self.graph.nodes[n] for n in names}, edges=tuple(edges))

    def left_out(self, name: str) -> int:
        """Return the number of direct neighbours that the neighbourhood of a node omits."""
        return sum(max(0, len(links[name]) - self.fan) for links in (self._reads, self._read_by))

    def _step(
        self, links: Mapping[str, list[str]], frontier: Iterable[str], shown: set[str]
    ) -> list[str]:
        """Add the neighbours of the frontier to `shown`, and return them as the next frontier."""
        neighbours = (node for name in frontier for node in links[name] if node not in shown)
        added = list(dict.fromkeys(neighbours))[: self.fan]
        shown.update(added)
        return added
