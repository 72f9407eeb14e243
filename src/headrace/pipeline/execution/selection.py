"""Which views a run is about: names, patterns, and what lies up or down the graph from them.

`revenue` is a view, `rev*` all that match, `+revenue` with everything that it reads, `revenue+`
with everything that reads it.
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from headrace.errors import InvalidArgumentError
from headrace.pipeline.bundle.bundle import Bundle


def select_views(bundle: Bundle, *, select: Sequence[str], exclude: Sequence[str]) -> set[str]:
    """The views that are selected: all, if none are named, without those that are excluded.

    Raises:
        InvalidArgumentError: a word matches no view.
    """
    reads = {
        name: [read for read in plan.reads if read in bundle.views]
        for name, plan in bundle.views.items()
    }
    readers: dict[str, list[str]] = {name: [] for name in bundle.order}
    for name, read in reads.items():
        for upstream in read:
            readers[upstream].append(name)
    chosen = set(bundle.order) if not select else set[str]()
    for word in select:
        chosen |= _matching(word, "--select", reads, readers)
    for word in exclude:
        chosen -= _matching(word, "--exclude", reads, readers)
    return chosen


def _matching(
    word: str,
    option: str,
    reads: Mapping[str, Sequence[str]],
    readers: Mapping[str, Sequence[str]],
) -> set[str]:
    pattern = word.removeprefix("+").removesuffix("+").casefold()
    named = {name for name in reads if fnmatchcase(name, pattern)}
    if not named:
        reason = f"no view matches {word!r}; there are {', '.join(sorted(reads)) or 'none'}"
        raise InvalidArgumentError(argument=option, reason=reason)
    found = set(named)
    if word.startswith("+"):
        found |= _reachable(named, reads)
    if word.endswith("+"):
        found |= _reachable(named, readers)
    return found


def _reachable(start: Collection[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    found, waiting = set[str](), list(start)
    while waiting:
        for name in edges[waiting.pop()]:
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found
