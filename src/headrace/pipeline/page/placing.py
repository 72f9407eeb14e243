"""Heights within layers: edges as straight as the order and the room for each box allow.

Each item wishes to stand where what it is linked with stands. The wishes of one layer are met as
well as they can be, in the sense of least squares, while the order and distances are kept: that
is isotonic regression, which pools neighbours whose wishes conflict.
"""

from collections.abc import Sequence

from headrace.pipeline.page.layering import Layers

_PASSES = 10
_STRAIGHT = 4.0
"""How much more a link between two bends wants to be straight."""


def place(layers: Layers, *, node_height: float, bend_height: float) -> list[float]:
    """The middle of each node and bend, from the top."""
    heights = [bend_height if layers.is_bend(i) else node_height for i in range(len(layers.left))]
    middles = [0.0] * len(heights)
    offsets = [_offsets([heights[item] for item in row]) for row in layers.rows]
    for row, offset in zip(layers.rows, offsets, strict=True):
        for item, middle in zip(row, offset, strict=True):
            middles[item] = middle - offset[-1] / 2
    numbered = list(enumerate(layers.rows))
    for step in range(_PASSES):
        for i, row in numbered if step % 2 == 0 else reversed(numbered):
            wishes, weights = _wishes(layers, row, middles)
            for item, middle in zip(row, settle(wishes, weights, offsets[i]), strict=True):
                middles[item] = middle
    top = min((m - h / 2 for m, h in zip(middles, heights, strict=True)), default=0.0)
    return [middle - top for middle in middles]


def settle(
    wishes: Sequence[float], weights: Sequence[float], offsets: Sequence[float]
) -> list[float]:
    """Positions near the wishes that are at least as far apart as the offsets are."""
    pools: list[list[float]] = []
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        pools.append([wish - offset, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, mass, count = pools.pop()
            above = pools[-1]
            above[0] = (above[0] * above[1] + mean * mass) / (above[1] + mass)
            above[1] += mass
            above[2] += count
    means = [mean for mean, _, count in pools for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _offsets(heights: Sequence[float]) -> list[float]:
    """The least distances of the middles of boxes below each other from the first of them."""
    offsets = [0.0] * len(heights)
    for i in range(1, len(heights)):
        offsets[i] = offsets[i - 1] + (heights[i - 1] + heights[i]) / 2
    return offsets


def _wishes(
    layers: Layers, row: Sequence[int], middles: Sequence[float]
) -> tuple[list[float], list[float]]:
    wishes, weights = [], []
    for item in row:
        total = mass = 0.0
        for end in (*layers.left[item], *layers.right[item]):
            weight = _STRAIGHT if layers.is_bend(item) and layers.is_bend(end) else 1.0
            total += middles[end] * weight
            mass += weight
        wishes.append(total / mass if mass else middles[item])
        weights.append(mass or 1.0)
    return wishes, weights
