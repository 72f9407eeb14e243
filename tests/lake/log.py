"""Write the files of a log other than checkpoints, one by one.

`state_at` replays commits into the expected state. The other functions write commits, compactions,
checksums and hints to disk.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.lake.action import Line
from tests.oracle import Action, Key, State, key_of

History = Sequence[Sequence[Line]]


def state_at(history: History, version: int) -> State:
    """Return the expected state: the result of replaying all commits up to a version."""
    state = State()
    for commit in history[: version + 1]:
        state.apply(commit)
    return state


def log_of(table: Path) -> Path:
    """Return the log directory of a table, creating it if needed."""
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    return log


def commit_path(table: Path, version: int) -> Path:
    """Return the path of a version's commit."""
    return log_of(table) / f"{version:020}.json"


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write JSON lines; a file that already has this content is left untouched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def write_commit(
    table: Path, version: int, lines: Sequence[Line], *, modified_ms: int | None = None
) -> Path:
    """Write one commit, with the given modification time, if any."""
    path = write_lines(commit_path(table, version), lines)
    if modified_ms is not None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    return path


def write_history(table: Path, history: History) -> Path:
    """Write all commits from version 0 on, and return the table."""
    for version, lines in enumerate(history):
        write_commit(table, version, lines)
    return table


def write_compaction(table: Path, first: int, last: int, history: History) -> Path:
    """Write the compaction of the commits `first` to `last`, both inclusive."""
    state = State()
    files: dict[Key, Line] = {}
    domains: dict[str, Action] = {}
    for line in (line for commit in history[first : last + 1] for line in commit):
        state.apply([line])
        for name, action in line.items():
            if name in {"add", "remove"}:
                files[key_of(action)] = {name: action}
            if name == "domainMetadata":
                domains[action["domain"]] = action
    single = {"protocol": state.protocol, "metaData": state.metadata}
    lines: list[Mapping[str, Any]] = [
        *({name: action} for name, action in single.items() if action),
        *({"txn": action} for action in state.txns.values()),
        *({"domainMetadata": action} for action in domains.values()),
        *files.values(),
    ]
    return write_lines(log_of(table) / f"{first:020}.{last:020}.compacted.json", lines)


def write_checksum(table: Path, version: int, state: State) -> Path:
    """Write the `.crc` of a version."""
    body = {
        "tableSizeBytes": sum(add["size"] for add in state.live.values()),
        "numFiles": len(state.live),
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": state.protocol,
        "metadata": state.metadata,
    }
    return write_lines(log_of(table) / f"{version:020}.crc", [body])


def write_hint(table: Path, version: int, **embedded: Any) -> Path:
    """Write `_last_checkpoint`; its version may be wrong."""
    return write_lines(
        log_of(table) / "_last_checkpoint", [{"version": version, "size": 1, **embedded}]
    )
