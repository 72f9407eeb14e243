"""The oracle: a forward replay that is too simple to be wrong.

It reads the newest complete checkpoint at or below a version, then the commits after it, and
keeps one dict of live files. It shares no code with Headrace, and it holds everything in memory.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import pyarrow.parquet as pq

Action: TypeAlias = Mapping[str, Any]
"""One action without its wrapper; a line of a commit is, for example, {"add": Action}."""

COMMIT = re.compile(r"(\d{20})\.json")
SINGLE = re.compile(r"(\d{20})\.checkpoint(?:\.[0-9a-f-]{36})?\.(?:parquet|json)")
PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")


class Key(NamedTuple):
    """Two actions with the same key refer to the same logical file."""

    path: str
    dv_id: str | None


@dataclass
class State:
    """The state of a table at one version."""

    protocol: Action | None = None
    metadata: Action | None = None
    txns: dict[str, Action] = field(default_factory=dict)
    domains: dict[str, Action] = field(default_factory=dict)
    live: dict[Key, Action] = field(default_factory=dict)
    removed: dict[Key, Action] = field(default_factory=dict)

    def apply(self, commit: Iterable[Action]) -> None:
        """Apply one commit or one checkpoint; the order of its actions does not matter."""
        for line in commit:
            for name, action in line.items():
                self._apply(name, action)

    def _apply(self, name: str, action: Action) -> None:
        match name:
            case "add":
                self.removed.pop(key_of(action), None)
                self.live[key_of(action)] = action
            case "remove":
                self.live.pop(key_of(action), None)
                self.removed[key_of(action)] = action
            case "protocol":
                self.protocol = action
            case "metaData":
                self.metadata = action
            case "txn":
                self.txns[action["appId"]] = action
            case "domainMetadata" if action["removed"]:
                self.domains.pop(action["domain"], None)
            case "domainMetadata":
                self.domains[action["domain"]] = action
            case _:
                pass


def dv_id(vector: Action | None) -> str | None:
    """Return the id of a deletion vector; the offset is part of it only if present."""
    if not vector:
        return None
    base: str = vector["storageType"] + vector["pathOrInlineDv"]
    return base if vector.get("offset") is None else f"{base}@{vector['offset']}"


def canonical(path: str) -> str:
    """Return one spelling for `file:///x`, `file:/x` and `/x`, and for `a%20b` and `a b`."""
    return re.sub(r"^file:/+", "/", unquote(path))


def key_of(action: Action) -> Key:
    return Key(canonical(action["path"]), dv_id(action.get("deletionVector")))


def versions(table: Path) -> list[int]:
    """Return every version that has a commit or a checkpoint."""
    commits, checkpoints = _list_log(table)
    return sorted(commits.keys() | checkpoints.keys())


def replay(table: Path, version: int, *, tail: Iterable[str] = ()) -> State:
    """Return the state at a version, or raise a KeyError that names the missing commit.

    `tail` lists ratified commits by their path below the log.
    """
    commits, checkpoints = _list_log(table)
    commits |= {int(Path(name).name[:20]): table / "_delta_log" / name for name in tail}
    base = max((v for v in checkpoints if v <= version), default=-1)
    state = State()
    for path in checkpoints.get(base, ()):
        state.apply(_read_checkpoint(path))
    for v in range(base + 1, version + 1):
        state.apply(read_commit(commits[v]))
    return state


def live_files(table: Path, version: int) -> dict[Key, Action]:
    """Return the live files of a version, by key."""
    return replay(table, version).live


def read_commit(path: Path) -> Iterator[Action]:
    """Yield the actions of a JSON file, each in its wrapper."""
    for line in path.read_text(encoding="utf-8-sig").split("\n"):
        if line.strip():
            yield json.loads(line)


def _list_log(table: Path) -> tuple[dict[int, Path], dict[int, list[Path]]]:
    commits: dict[int, Path] = {}
    checkpoints: dict[int, list[Path]] = {}
    parts: defaultdict[tuple[int, int], list[Path]] = defaultdict(list)
    for entry in sorted((table / "_delta_log").iterdir()):
        if match := COMMIT.fullmatch(entry.name):
            commits[int(match[1])] = entry
        elif match := SINGLE.fullmatch(entry.name):
            checkpoints[int(match[1])] = [entry]
        elif match := PART.fullmatch(entry.name):
            parts[int(match[1]), int(match[3])].append(entry)
    for (version, count), part_names in parts.items():
        if len(part_names) == count:
            checkpoints.setdefault(version, part_names)
    return commits, checkpoints


def _read_checkpoint(path: Path) -> Iterator[Action]:
    for line in read_commit(path) if path.suffix == ".json" else _read_parquet(path):
        yield line
        if sidecar := line.get("sidecar"):
            # The path may be absolute on the machine that wrote it, so use only its file name.
            name = Path(unquote(sidecar["path"])).name
            yield from _read_parquet(path.parent / "_sidecars" / name)


def _read_parquet(path: Path) -> Iterator[Action]:
    for batch in pq.ParquetFile(path).iter_batches():
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            yield {name: value for name, value in row.items() if value is not None}
