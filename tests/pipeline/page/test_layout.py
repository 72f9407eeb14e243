import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipeline.page.layering import Layers, layer
from headrace.pipeline.page.layout import HEIGHT, WIDTH, lay_out
from headrace.pipeline.page.neighbourhood import Neighbourhoods
from headrace.pipeline.page.ordering import crossings, order
from headrace.pipeline.page.placing import settle
from headrace.pipeline.page.view_graph import Edge, Graph, Node


def graph_of(count: int, edges: set[tuple[int, int]]) -> Graph:
    names = [f"v{i:04}" for i in range(count)]
    named_edges: tuple[Edge, ...] = tuple((names[a], names[b]) for a, b in sorted(edges))
    return Graph(nodes={name: Node(name=name) for name in names}, edges=named_edges)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 24))
    pairs = list(combinations(range(count), 2))
    edges = draw(st.sets(st.sampled_from(pairs), max_size=40)) if pairs else set()
    return graph_of(count, edges)


def crossings_by_pairs(layers: Layers) -> int:
    links = []
    for row, after in pairwise(layers.rows):
        place = {item: i for i, item in enumerate(after)}
        links.append([(i, place[end]) for i, a in enumerate(row) for end in layers.right_links[a]])
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0
        for pair_links in links
        for a, b in combinations(pair_links, 2)
    )


@pytest.mark.property
@given(graphs())
def test_every_view_is_to_the_right_of_what_it_reads(graph: Graph) -> None:
    corners = lay_out(graph).corners
    assert all(corners[a][0] + WIDTH < corners[b][0] for a, b in graph.edges)


@pytest.mark.property
@given(graphs())
def test_no_two_boxes_overlap_and_all_are_inside(graph: Graph) -> None:
    layout = lay_out(graph)
    for x, y in layout.corners.values():
        assert 0 <= x <= layout.width - WIDTH
        assert 0 <= y <= layout.height - HEIGHT
    for (x, y), (u, v) in combinations(layout.corners.values(), 2):
        assert abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT


@pytest.mark.property
@given(graphs())
def test_every_edge_has_its_path(graph: Graph) -> None:
    layout = lay_out(graph)
    assert set(layout.paths) == set(graph.edges)
    for (a, b), path in layout.paths.items():
        assert path.startswith(f"M{layout.corners[a][0] + WIDTH} ")
        assert path.endswith(f" {layout.corners[b][0]} {layout.corners[b][1] + HEIGHT // 2}")


@pytest.mark.property
@given(graphs())
def test_crossings_equal_a_count_pair_by_pair(graph: Graph) -> None:
    layers = layer(list(graph.nodes), graph.edges)
    assert crossings(layers) == crossings_by_pairs(layers)


@pytest.mark.property
@given(graphs())
def test_ordering_never_makes_more_edges_cross(graph: Graph) -> None:
    layers = layer(list(graph.nodes), graph.edges)
    before = crossings(layers)
    order(layers)
    assert crossings(layers) <= before


def test_a_tree_is_drawn_without_a_crossing() -> None:
    rng = random.Random(7)
    graph = graph_of(60, {(rng.randrange(i), i) for i in range(1, 60)})
    layers = layer(list(graph.nodes), graph.edges)
    order(layers)
    assert crossings(layers) == 0


@pytest.mark.property
@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=12), st.randoms())
def test_settling_keeps_distances_and_is_idempotent(
    wishes: list[float], rng: random.Random
) -> None:
    offsets = [0.0]
    for _ in wishes[1:]:
        offsets.append(offsets[-1] + rng.uniform(1, 50))
    weights = [rng.uniform(1, 4) for _ in wishes]
    settled = settle(wishes, weights, offsets)
    for (a, b), (low, high) in zip(pairwise(settled), pairwise(offsets), strict=True):
        assert b - a >= high - low - 1e-6
    assert settle(settled, weights, offsets) == pytest.approx(settled)


def test_long_edges_from_one_node_share_a_path() -> None:
    chain = {(i, i + 1) for i in range(5)}
    graph = graph_of(6, chain | {(0, 3), (0, 4), (0, 5)})
    layers = layer(list(graph.nodes), graph.edges)
    assert layers.routes[0, 5][:3] == layers.routes[0, 4]
    assert len(layers.left_links) - layers.nodes == 4


def test_the_same_graph_always_looks_the_same() -> None:
    rng = random.Random(3)
    edges = {(rng.randrange(i), i) for i in range(1, 80) for _ in range(2)}
    assert lay_out(graph_of(80, edges)) == lay_out(graph_of(80, edges))


def test_an_empty_graph_is_laid_out() -> None:
    assert lay_out(Graph(nodes={}, edges=())).corners == {}


def test_a_neighbourhood_holds_what_is_near_in_both_directions() -> None:
    graph = graph_of(9, {(i, i + 1) for i in range(8)})
    near = Neighbourhoods(graph, steps=2, fan=10).around("v0004")
    assert list(near.nodes) == ["v0002", "v0003", "v0004", "v0005", "v0006"]
    assert len(near.edges) == 4


def test_a_hub_shows_some_of_its_readers_and_counts_the_others() -> None:
    graph = graph_of(100, {(0, i) for i in range(1, 100)})
    cut = Neighbourhoods(graph, steps=2, fan=10)
    assert len(cut.around("v0000").nodes) == 11
    assert cut.left_out("v0000") == 89
