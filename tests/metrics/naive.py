"""A count that is too simple to be wrong: it looks at every row of every file.

It is given the files that a scan reads. It determines by itself what they hold and what counts.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import pyarrow.parquet as pq

from headrace.log.segment import Segment
from tests.oracle import Action, Key, key_of

Keeps: TypeAlias = Callable[[Action], bool]


@dataclass(frozen=True)
class Rows:
    """The rows of one file: a JSON file is one batch; all leaves of a checkpoint are one, too."""

    rows: tuple[Action, ...]
    is_json: bool

    @cached_property
    def adds(self) -> list[Action]:
        return [row["add"] for row in self.rows if "add" in row]

    @cached_property
    def removes(self) -> list[Action]:
        return [row["remove"] for row in self.rows if "remove" in row]

    def without(self, adds: Sequence[Action]) -> list[Action]:
        return [add for add in self.adds if add not in adds]

    @property
    def others(self) -> int:
        return len(self.rows) - len(self.adds) - len(self.removes)

    @property
    def keys(self) -> set[Key]:
        return {key_of(action) for action in (*self.adds, *self.removes)}


@dataclass(frozen=True)
class Log:
    """The files that a scan replays, newest first."""

    commits: tuple[Rows, ...]
    leaves: tuple[Rows, ...]

    def fresh(self) -> Iterator[tuple[Rows, list[Action]]]:
        """Yield the rows of each file, and its adds that nothing newer shadows."""
        seen: set[Key] = set()
        for commit in self.commits:
            yield commit, [add for add in commit.adds if key_of(add) not in seen]
            seen |= commit.keys
        for leaf in self.leaves:
            yield leaf, [add for add in leaf.adds if key_of(add) not in seen]

    def read_for(self, files: int, keeps: Keeps) -> "Log":
        """Return the commits needed for `files` files, with the leaves if they are not enough."""
        rows_read: list[Rows] = []
        for rows, adds in self.fresh():
            if files <= 0:
                return Log(tuple(rows_read), ())
            if len(rows_read) == len(self.commits):
                break
            rows_read.append(rows)
            files -= sum(map(keeps, adds))
        return self if files > 0 else Log(tuple(rows_read), ())


def read_log(table: Path, segment: Segment) -> Log:
    """Read the rows of a segment's files; a manifest with sidecars is not replayed."""
    commits = [read_rows(table / file.path) for file in segment.replay_newest_first]
    base = () if segment.checkpoint is None else segment.checkpoint.files
    parts = [read_rows(table / file.path) for file in base]
    sidecars = [row["sidecar"]["path"] for part in parts for row in part.rows if "sidecar" in row]
    folder = table / "_delta_log" / "_sidecars"
    leaves = [read_rows(folder / Path(unquote(path)).name) for path in sidecars]
    return Log(tuple(commits), tuple(leaves or parts))


def read_rows(path: Path) -> Rows:
    """Read the rows of a commit, a compaction, a checkpoint or a sidecar."""
    if path.suffix == ".json":
        lines = path.read_text(encoding="utf-8").split("\n")
        return Rows(tuple(json.loads(line) for line in lines if line), is_json=True)
    rows = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    return Rows(tuple(_without_nulls(row) for row in rows), is_json=False)


def _without_nulls(row: Action) -> Action:
    return {name: value for name, value in row.items() if value is not None}


def rows_in(files: Iterable[Rows]) -> int:
    return sum(len(file.rows) for file in files)
