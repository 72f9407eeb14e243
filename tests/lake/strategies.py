"""Hypothesis strategies: histories of legal commits, with checkpoints and other log files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.lake import partition, spelling, statistic
from tests.lake.action import (
    READER_FEATURES,
    Line,
    add,
    commit_info,
    domain,
    metadata,
    protocol,
    remove,
    statistics,
    txn,
    vector,
)
from tests.lake.checkpoint import (
    Columns,
    Encoding,
    Form,
    Shape,
    Statistics,
    Tombstones,
    TypedValues,
)
from tests.lake.log import History
from tests.lake.plan import Hint, Plan
from tests.oracle import State, canonical, dv_id


@dataclass(frozen=True)
class Oddities:
    """Values in an add action that are legal JSON and yet hard to read."""

    numbers: Sequence[str | None]
    """The texts of an integer partition column."""
    statistics: Sequence[str]
    """Texts that sometimes take the place of statistics."""


ANY = Oddities(partition.ANY, statistic.ODD)
WELL_FORMED = Oddities(partition.WELL_FORMED, statistic.ODD)
"""Partition values are well-formed; statistics may still be odd."""
PLAIN = Oddities(partition.PLAIN, ())
"""Values that every reader accepts."""

FILES = 6
"""The number of files in a history: few, so that commits often touch the same ones."""

VECTORS = (
    None,
    vector("ab^-aqEH.-t@S}K{vb[*k^", offset=None),
    vector("ab^-aqEH.-t@S}K{vb[*k^", offset=0),
    vector("ab^-aqEH.-t@S}K{vb[*k^", offset=40),
    vector("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", storage="i", offset=None),
)

shapes = st.builds(
    Shape,
    form=st.sampled_from(Form),
    parts=st.integers(1, 4),
    sidecars=st.integers(0, 3),
    tombstones=st.sampled_from(Tombstones),
    statistics=st.sampled_from(Statistics),
    typed_values=st.sampled_from(TypedValues),
    columns=st.sampled_from(Columns),
    encoding=st.sampled_from(Encoding),
    row_group_rows=st.sampled_from([1, 2, 1000]),
)

_numbers = st.integers(0, 2**16)
_steps = st.fixed_dictionaries(
    {
        "file": st.integers(0, FILES - 1),
        "act": st.integers(0, 3),
        "way": st.integers(0, 9 * (len(VECTORS) - 1) - 1),
        "facts": _numbers,
        "values": _numbers,
    }
)
_commits = st.fixed_dictionaries(
    {
        "steps": st.lists(_steps, max_size=4),
        "txns": st.dictionaries(st.sampled_from("pq"), st.integers(0, 9), max_size=2),
        "domains": st.dictionaries(st.sampled_from(["d.1", "d.2"]), st.booleans(), max_size=2),
        "other": st.sampled_from(["", "", "info", "protocol", "metadata", "info protocol"]),
        "order": st.integers(0, 2**16),
    }
)


def _facts(number: int, odd_statistics: Sequence[str] = ()) -> dict[str, Any]:
    """Return an add's other fields, all derived from one number because draws are slow."""
    return {
        "size": number,
        "stats": _statistics(number, odd_statistics),
        "tags": (None, {"k": "v"}, {"k": "w"})[number // 9 % 3],
        "modified_ms": number * 1000,
    }


def _statistics(number: int, odd: Sequence[str]) -> str | None:
    """Return no statistics, regular ones, or sometimes odd ones."""
    if number % 5 == 0:
        return None
    if odd and number % 7 == 0:
        return odd[number // 7 % len(odd)]
    low = number % 50
    return statistics(number % 10, low=low, high=low + 9)


def _file_lines(
    step: dict[str, Any], spellings: Sequence[str], oddities: Oddities, state: State
) -> list[Line]:
    """Return one commit's actions on one file: anything that is legal in the current state."""
    way = step["way"]
    path, old_path = spellings[way % len(spellings)], spellings[way // 3 % len(spellings)]
    known = next((add for key, add in state.live.items() if key.path == canonical(path)), None)
    current = None if known is None else known.get("deletionVector")
    other = [v for v in VECTORS if dv_id(v) != dv_id(current)][way // 9]
    values = partition.partition_values(step["values"], oddities.numbers)
    facts = _facts(step["facts"], oddities.statistics) | {"partition_values": values}
    match step["act"], known:
        case 0, None:
            return [remove(path, vector=other)]
        case 0, _:
            return [remove(old_path, vector=current)]
        case 1, _:
            return [add(path, vector=current, **facts)]
        case 2, None:
            return [add(path, vector=other, **facts)]
        case 2, _:
            return [
                add(path, vector=other, **facts),
                remove(old_path, vector=current),
            ]
        case _:
            return [remove(old_path, vector=other)]


def _lines(
    commit: dict[str, Any],
    version: int,
    paths: Sequence[Sequence[str]],
    oddities: Oddities,
    state: State,
) -> tuple[Line, ...]:
    other_actions = commit["other"]
    lines: list[Line] = [commit_info()] if "info" in other_actions else []
    lines += [txn(app, seen) for app, seen in commit["txns"].items()]
    lines += [
        domain(name, f'{{"v":{version}}}', removed=removed)
        for name, removed in commit["domains"].items()
    ]
    if version == 0 or "protocol" in other_actions:
        more = ("timestampNtz",) if version % 2 else ()
        lines.append(protocol(features=READER_FEATURES + more))
    if version == 0 or "metadata" in other_actions:
        lines.append(metadata(properties={"made.at": str(version)}))
    steps = {step["file"]: step for step in commit["steps"]}
    for file, step in steps.items():
        lines += _file_lines(step, paths[file], oddities, state)
    Random(commit["order"]).shuffle(lines)
    return tuple(lines)


def path_pools(kinds: Sequence[spelling.Kind]) -> st.SearchStrategy[list[spelling.Spellings]]:
    """Draw the paths of a history, of all lengths: some readers compare parts of a path first."""
    drawn = st.tuples(st.sampled_from(kinds), st.integers(0, 60), st.integers(0, 60))

    def build(draws: list[tuple[spelling.Kind, int, int]]) -> list[spelling.Spellings]:
        return [kind(f"{i}" + "x" * pad, at) for i, (kind, pad, at) in enumerate(draws)]

    return st.lists(drawn, min_size=FILES, max_size=FILES).map(build)


def histories(
    *,
    kinds: Sequence[spelling.Kind] = spelling.ALL,
    oddities: Oddities = ANY,
    most_commits: int = 12,
) -> st.SearchStrategy[History]:
    """Draw a list of legal commits; the first one creates the table."""

    def build(paths: list[spelling.Spellings], recipes: list[dict[str, Any]]) -> History:
        state = State()
        history: list[tuple[Line, ...]] = []
        for version, recipe in enumerate(recipes):
            history.append(_lines(recipe, version, paths, oddities, state))
            state.apply(history[-1])
        return tuple(history)

    commits = st.lists(_commits, min_size=1, max_size=most_commits)
    return st.builds(build, path_pools(kinds), commits)


@st.composite
def plans(draw: st.DrawFn, /, *, hints: Iterable[Hint] = Hint, **limits: Any) -> Plan:
    """Draw a history with checkpoints, compactions, checksums and a hint that may be wrong."""
    history = draw(histories(**limits))
    version = st.integers(0, len(history) - 1)
    checkpoints = draw(
        st.dictionaries(version, st.lists(shapes, min_size=1, max_size=2).map(tuple), max_size=3)
    )
    ranges = st.tuples(version, version).filter(lambda pair: pair[0] < pair[1])
    compactions = draw(st.sets(ranges, max_size=3)) if len(history) > 1 else set()
    return Plan(
        history=history,
        checkpoints=checkpoints,
        compactions=tuple(sorted(compactions)),
        checksums=draw(st.frozensets(version, max_size=3)),
        hint=draw(st.sampled_from(list(hints))),
        cleaned_to=draw(st.sampled_from([-1, -1, *checkpoints])),
    )


@st.composite
def full_checkpoints(draw: st.DrawFn, /, *, oddities: Oddities = ANY) -> Plan:
    """Draw a checkpoint of many files, alone or followed by a commit that removes some of them."""
    drawn = draw(st.lists(st.tuples(_numbers, _numbers), min_size=2, max_size=12))
    adds = [
        add(
            f"{i}.parquet",
            partition_values=partition.partition_values(values, oddities.numbers),
            **_facts(number, oddities.statistics),
        )
        for i, (values, number) in enumerate(drawn)
    ]
    removed = draw(st.sets(st.sampled_from(range(len(adds))), max_size=2))
    history: list[tuple[Line, ...]] = [(protocol(), metadata(), *adds)]
    if removed:
        history.append(tuple(remove(f"{i}.parquet") for i in removed))
    return Plan(history=history, checkpoints={0: (draw(shapes),)}, cleaned_to=0)
