"""Sets vertical positions within layers so that edges are as straight as possible.

The target of each item is the mean position of its links. The positions of a layer minimise the
squared distance to the targets under the given order and minimum distances: this is isotonic
regression, which pools neighbours whose targets conflict.
"""

from collections.abc import Sequence

from headrace.pipeline.page.layering import Layers

_PASSES = 10
_BEND_WEIGHT = 4.0
"""The weight of a link between two bends, so that long edges are straight."""


def vertical_centres(layers: Layers, *, node_height: float, bend_height: float) -> list[float]:
    """Return the vertical centre of each node and bend."""
    heights = [
        bend_height if layers.is_bend(i) else node_height for i in range(len(layers.left_links))
    ]
    middles = [0.0] * len(heights)
    offsets = [_offsets([heights[item] for item in row]) for row in layers.rows]
    for row, offset in zip(layers.rows, offsets, strict=True):
        for item, middle in zip(row, offset, strict=True):
            middles[item] = middle - offset[-1] / 2
    numbered = list(enumerate(layers.rows))
    for step in range(_PASSES):
        for i, row in numbered if step % 2 == 0 else reversed(numbered):
            targets, weights = _targets(layers, row, middles)
            for item, middle in zip(row, settle(targets, weights, offsets[i]), strict=True):
                middles[item] = middle
    top = min((m - h / 2 for m, h in zip(middles, heights, strict=True)), default=0.0)
    return [middle - top for middle in middles]


def settle(
    targets: Sequence[float], weights: Sequence[float], offsets: Sequence[float]
) -> list[float]:
    """Return positions close to the targets and at least as far apart as the offsets."""
    pools: list[list[float]] = []
    for target, weight, offset in zip(targets, weights, offsets, strict=True):
        pools.append([target - offset, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, mass, count = pools.pop()
            above = pools[-1]
            above[0] = (above[0] * above[1] + mean * mass) / (above[1] + mass)
            above[1] += mass
            above[2] += count
    means = [mean for mean, _, count in pools for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _offsets(heights: Sequence[float]) -> list[float]:
    """Return the minimum distance of each centre from the first one."""
    offsets = [0.0] * len(heights)
    for i in range(1, len(heights)):
        offsets[i] = offsets[i - 1] + (heights[i - 1] + heights[i]) / 2
    return offsets


def _targets(
    layers: Layers, row: Sequence[int], middles: Sequence[float]
) -> tuple[list[float], list[float]]:
    targets, weights = [], []
    for item in row:
        total = mass = 0.0
        for end in (*layers.left_links[item], *layers.right_links[item]):
            weight = _BEND_WEIGHT if layers.is_bend(item) and layers.is_bend(end) else 1.0
            total += middles[end] * weight
            mass += weight
        targets.append(total / mass if mass else middles[item])
        weights.append(mass or 1.0)
    return targets, weights
