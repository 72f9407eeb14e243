"""Orders the nodes within layers to reduce edge crossings.

Sweeps go right and left through the layers and move each node to the mean position of its links;
in small graphs, adjacent nodes are also swapped if that removes crossings. The best order seen is
kept.
"""

from bisect import bisect, insort
from collections.abc import Sequence
from itertools import pairwise

from headrace.pipeline.page.layering import Layers

_SWEEPS = 12
_MAX_SWAPPED_ITEMS = 400
"""Swapping neighbours takes too long in larger graphs."""


def order(layers: Layers) -> None:
    """Sort each layer in place."""
    best, fewest = [list(row) for row in layers.rows], crossings(layers)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        _sweep(layers, rightwards=sweep % 2 == 0)
        if len(layers.left_links) <= _MAX_SWAPPED_ITEMS:
            _swap_neighbours(layers)
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(row) for row in layers.rows], count
    layers.rows = best


def crossings(layers: Layers) -> int:
    """Return the number of pairs of links that cross."""
    total = 0
    for row, next_row in pairwise(layers.rows):
        position = {item: i for i, item in enumerate(next_row)}
        ends_above: list[int] = []
        for item in row:
            ends = sorted(position[end] for end in layers.right_links[item])
            total += sum(len(ends_above) - bisect(ends_above, end) for end in ends)
            for end in ends:
                insort(ends_above, end)
    return total


def _sweep(layers: Layers, *, rightwards: bool) -> None:
    rows = layers.rows if rightwards else layers.rows[::-1]
    links = layers.left_links if rightwards else layers.right_links
    for fixed, row in pairwise(rows):
        position = {item: i for i, item in enumerate(fixed)}
        # A node without links stays about where it is.
        means = {
            item: sum(position[end] for end in links[item]) / len(links[item])
            if links[item]
            else i * len(fixed) / len(row)
            for i, item in enumerate(row)
        }
        row.sort(key=means.__getitem__)


def _swap_neighbours(layers: Layers) -> None:
    for i, row in enumerate(layers.rows):
        sides = [
            (links, {item: p for p, item in enumerate(layers.rows[j])})
            for links, j in ((layers.left_links, i - 1), (layers.right_links, i + 1))
            if 0 <= j < len(layers.rows)
        ]
        ends = {
            item: [sorted(positions[end] for end in links[item]) for links, positions in sides]
            for item in row
        }
        for index in range(len(row) - 1):
            upper, lower = row[index], row[index + 1]
            if _crossed(ends[upper], ends[lower]) > _crossed(ends[lower], ends[upper]):
                row[index], row[index + 1] = lower, upper


def _crossed(upper: Sequence[Sequence[int]], lower: Sequence[Sequence[int]]) -> int:
    """Return the crossings between the links of two adjacent nodes in their current order."""
    return sum(
        len(upper_ends) - bisect(upper_ends, end)
        for upper_ends, lower_ends in zip(upper, lower, strict=True)
        for end in lower_ends
    )
