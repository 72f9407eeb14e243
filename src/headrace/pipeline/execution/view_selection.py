"""Selects views by name, by pattern, and by their position in the graph.

`revenue` selects one view, `rev*` all that match, `+revenue` also everything that it reads, and
`revenue+` also everything that reads it.
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from headrace.errors import InvalidArgumentError
from headrace.pipeline.bundle.bundle import Bundle


def select_views(bundle: Bundle, *, select: Sequence[str], exclude: Sequence[str]) -> set[str]:
    """Return the selected views: all if `select` is empty, minus those that `exclude` matches.

    Raises:
        InvalidArgumentError: a selector matches no view.
    """
    reads = {
        name: [relation for relation in plan.reads if relation in bundle.views]
        for name, plan in bundle.views.items()
    }
    readers: dict[str, list[str]] = {name: [] for name in bundle.order}
    for name, relations in reads.items():
        for relation in relations:
            readers[relation].append(name)
    selected = set(bundle.order) if not select else set[str]()
    for selector in select:
        selected |= _matching(selector, "--select", reads, readers)
    for selector in exclude:
        selected -= _matching(selector, "--exclude", reads, readers)
    return selected


def _matching(
    selector: str,
    option: str,
    reads: Mapping[str, Sequence[str]],
    readers: Mapping[str, Sequence[str]],
) -> set[str]:
    """Return the views that one selector matches."""
    pattern = selector.removeprefix("+").removesuffix("+").casefold()
    start = {name for name in reads if fnmatchcase(name, pattern)}
    if not start:
        reason = f"no view matches {selector!r}; there are {', '.join(sorted(reads)) or 'none'}"
        raise InvalidArgumentError(argument=option, reason=reason)
    matching = set(start)
    if selector.startswith("+"):
        matching |= _reachable(start, reads)
    if selector.endswith("+"):
        matching |= _reachable(start, readers)
    return matching


def _reachable(start: Collection[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the views that edges lead to from some views, directly or indirectly."""
    reached, waiting = set[str](), list(start)
    while waiting:
        for name in edges[waiting.pop()]:
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached
