"""Decide what the commits after the checkpoint do, before anything is written.

The history consists only of file numbers. The commits are written from it, and the truth is derived
from it: nothing is read back.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.parameter import Parameters
from benchmarks.synthetic import COMMITTED, Numbers

HITS_OF_CHECKPOINT = 0.8
"""The share of removes that hit the checkpoint; the others hit files of earlier commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit: the files it adds, removes, and adds again under the same path."""

    added: Numbers
    removed: Numbers
    readded: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All commits, and the state of their files after replaying all of them."""

    commits: tuple[Commit, ...]
    dead: Numbers
    """Files of the checkpoint or of commits that are no longer live."""
    revised: Numbers
    """Files whose live add is the second one."""

    @property
    def fresh(self) -> Numbers:
        """Live files that appear only in a commit."""
        added = np.concatenate([commit.added for commit in self.commits])
        return added[~np.isin(added, self.touched)]

    @property
    def touched(self) -> Numbers:
        """Files whose first add is not, or no longer, the live one."""
        return np.union1d(self.dead, self.revised)


def plan_history(parameters: Parameters) -> History:
    """Decide what each commit does."""
    random = np.random.default_rng(parameters.seed)
    removals = parameters.commits * (parameters.removes + parameters.readds)
    pool = list(random.choice(parameters.files, removals, replace=False))
    removed_before: list[int] = []
    live_of_commits: list[int] = []
    revised: list[int] = []
    commits: list[Commit] = []
    for index in range(parameters.commits):
        start = int(COMMITTED) + index * parameters.adds
        added = range(start, start + parameters.adds)
        old = round(parameters.removes * HITS_OF_CHECKPOINT) if index else parameters.removes
        removed = _take(pool, old) + _draw(live_of_commits, parameters.removes - old, random)
        back = parameters.readds // 2 if index else 0
        readded = _take(pool, parameters.readds - back) + _draw(removed_before, back, random)
        commits.append(
            Commit(added=_numbers(added), removed=_numbers(removed), readded=_numbers(readded))
        )
        removed_before += removed
        live_of_commits += added
        revised += readded
    return History(
        commits=tuple(commits), dead=_numbers(removed_before), revised=_numbers(sorted(revised))
    )


def _take(pool: list[int], count: int) -> list[int]:
    drawn, pool[:] = pool[:count], pool[count:]
    return drawn


def _draw(pool: list[int], count: int, random: np.random.Generator) -> list[int]:
    """Remove random elements from a pool, so that none is drawn twice."""
    places = sorted(random.choice(len(pool), count, replace=False), reverse=True) if count else []
    return [pool.pop(place) for place in places]


def _numbers(values: range | list[int]) -> Numbers:
    return np.array(values, np.uint64)
