"""The part of a graph around one node: what a large graph shows of itself at a time."""

from collections.abc import Iterable, Mapping

from headrace.pipeline.page.graph import Graph


class Neighbourhoods:
    """Cuts neighbourhoods out of one graph."""

    def __init__(self, graph: Graph, *, steps: int, fan: int) -> None:
        """Say how far a neighbourhood reaches.

        Args:
            graph: The whole graph.
            steps: How many edges to follow, upstream and downstream.
            fan: How many nodes a step may add in one direction.
        """
        self.graph, self.steps, self.fan = graph, steps, fan
        self._reads: dict[str, list[str]] = {name: [] for name in graph.nodes}
        self._read_by: dict[str, list[str]] = {name: [] for name in graph.nodes}
        for a, b in graph.edges:
            self._reads[b].append(a)
            self._read_by[a].append(b)
        self._place = {name: place for place, name in enumerate(graph.nodes)}

    def around(self, name: str) -> Graph:
        """A node with what it reads and who reads it, and so on, step by step."""
        shown = {name}
        upstream, downstream = [name], [name]
        for _ in range(self.steps):
            upstream = self._step(self._reads, upstream, shown)
            downstream = self._step(self._read_by, downstream, shown)
        names = sorted(shown, key=self._place.__getitem__)
        edges = ((a, b) for b in names for a in self._reads[b] if a in shown)
        return Graph(nodes={n: self.graph.nodes[n] for n in names}, edges=tuple(edges))

    def left_out(self, name: str) -> int:
        """How many direct neighbours of a node its neighbourhood has no room for."""
        return sum(max(0, len(links[name]) - self.fan) for links in (self._reads, self._read_by))

    def _step(
        self, links: Mapping[str, list[str]], frontier: Iterable[str], shown: set[str]
    ) -> list[str]:
        found = (further for near in frontier for further in links[near] if further not in shown)
        taken = list(dict.fromkeys(found))[: self.fan]
        shown.update(taken)
        return taken
