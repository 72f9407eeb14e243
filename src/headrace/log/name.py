"""Parse the names of files in `_delta_log`.

A file name enters; its kind and version leave, or None for a name that readers ignore.
"""

import re
from enum import Enum
from typing import TypeAlias

import msgspec

LOG_DIRECTORY = "_delta_log"
SIDECAR_DIRECTORY = "_delta_log/_sidecars"
STAGED_DIRECTORY = "_staged_commits"
HINT_PATH = "_delta_log/_last_checkpoint"

_NAME = re.compile(r"(?P<version>\d{20})\.(?P<suffix>.+)", re.ASCII)
_COMPACTION = re.compile(r"(?P<end>\d{20})\.compacted\.json", re.ASCII)
_PART = re.compile(r"checkpoint\.(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet", re.ASCII)
_UUID = r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_UNIQUE = re.compile(rf"checkpoint\.{_UUID}\.(?P<format>json|parquet)", re.ASCII)
_STAGED = re.compile(rf"(?P<version>\d{{20}})\.({_UUID}\.)?json", re.ASCII)
MAX_VERSION = (1 << 63) - 1
"""Versions are 64-bit numbers; twenty digits can exceed that."""


class CheckpointKind(Enum):
    """The four ways to name a checkpoint."""

    CLASSIC = "classic"
    MULTI_PART = "multi-part"
    V2_PARQUET = "v2-parquet"
    V2_JSON = "v2-json"


class CommitName(msgspec.Struct, frozen=True):
    """`N.json`."""

    version: int


class ChecksumName(msgspec.Struct, frozen=True):
    """`N.crc`."""

    version: int


class CompactionName(msgspec.Struct, frozen=True):
    """`X.Y.compacted.json`: the commits X to Y, reconciled."""

    version: int
    end: int


class CheckpointName(msgspec.Struct, frozen=True):
    """`N.checkpoint…`; only a multi-part checkpoint has more than one part."""

    version: int
    kind: CheckpointKind
    part: int = 1
    parts: int = 1


LogName: TypeAlias = CommitName | ChecksumName | CompactionName | CheckpointName


def parse_name(name: str) -> LogName | None:
    """Parse a file name; None if it means nothing to a reader."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    version, suffix = int(match["version"]), match["suffix"]
    if version > MAX_VERSION:
        return None
    if suffix == "json":
        return CommitName(version)
    if suffix == "crc":
        return ChecksumName(version)
    if suffix == "checkpoint.parquet":
        return CheckpointName(version, CheckpointKind.CLASSIC)
    if match := _COMPACTION.fullmatch(suffix):
        return CompactionName(version, int(match["end"]))
    if match := _PART.fullmatch(suffix):
        part, parts = int(match["part"]), int(match["parts"])
        return CheckpointName(version, CheckpointKind.MULTI_PART, part, parts)
    if match := _UNIQUE.fullmatch(suffix):
        return CheckpointName(version, CheckpointKind(f"v2-{match['format']}"))
    return None


def staged_version(path: str) -> int | None:
    """Return the version of a commit that a catalog ratified: `N.json` or `N.<uuid>.json`."""
    match = _STAGED.fullmatch(path.rpartition("/")[2])
    return None if match is None else int(match["version"])


def first_name(version: int) -> str:
    """Return the name from which to list, to see every file of `version` and later."""
    return f"{version:020}"
