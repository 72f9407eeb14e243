"""Builds the actions of a version file: a change enters, the lines of the file leave."""

from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.maintain.build import Change
from headrace.maintain.staging import now_ms
from headrace.maintain.version_file import add_of_entry
from headrace.protocol.state import Entry


def commit_actions(
    change: Change, removes: Iterable[str], adds: Iterable[Entry], *, commit_id: str
) -> list[dict[str, Any]]:
    """Return the lines of a version file: commit info, new metadata, removes, then adds."""
    information = {
        "commitId": commit_id,
        "timestamp": now_ms(),
        "engineInfo": "headrace",
        "operation": "MERGE" if change.is_merge else "WRITE",
    }
    lines: list[dict[str, Any]] = [{"commitInfo": information}]
    if change.metadata is not None:
        lines.append(msgspec.json.decode(change.metadata))
    lines += [
        {"remove": {"path": path, "deletionTimestamp": now_ms(), "dataChange": True}}
        for path in sorted(removes)
    ]
    lines += [{"add": _without_version(add_of_entry(entry))} for entry in adds]
    return lines


def _without_version(add: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in add.items() if name != "addedAtVersion"}
