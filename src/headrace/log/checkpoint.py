"""Which checkpoints a listing holds, and which one to build on."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headrace.log.name import CheckpointKind, CheckpointName
from headrace.protocol.log_file import LogFile


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A complete checkpoint: everything the table was at `version`."""

    version: int
    kind: CheckpointKind
    files: tuple[LogFile, ...]

    @property
    def size_bytes(self) -> int:
        """The size of its own files, sidecars not counted."""
        return sum(file.size_bytes for file in self.files)


_PREFERENCE = (
    CheckpointKind.V2_PARQUET,
    CheckpointKind.MULTI_PART,
    CheckpointKind.CLASSIC,
    CheckpointKind.V2_JSON,
)
"""Checkpoints of one version are equally valid; those that split into leaves come first."""


def complete_checkpoints(
    named_files: Iterable[tuple[CheckpointName, LogFile]],
) -> list[Checkpoint]:
    """Every complete checkpoint, best first: newest, then by kind, then by name.

    A multi-part checkpoint that lacks a part does not exist; nor does an empty file.
    """
    parts: dict[tuple[int, int], dict[int, LogFile]] = defaultdict(dict)
    complete: list[Checkpoint] = []
    for name, file in named_files:
        if file.size_bytes == 0:
            continue
        if name.kind is CheckpointKind.MULTI_PART:
            parts[name.version, name.parts][name.part] = file
        else:
            complete.append(Checkpoint(version=name.version, kind=name.kind, files=(file,)))
    for (version, count), by_part in parts.items():
        # Counted first: a name may claim billions of parts.
        if len(by_part) == count and by_part.keys() == set(range(1, count + 1)):
            files = tuple(by_part[part] for part in sorted(by_part))
            complete.append(
                Checkpoint(version=version, kind=CheckpointKind.MULTI_PART, files=files)
            )
    return sorted(complete, key=_rank)


def _rank(checkpoint: Checkpoint) -> tuple[int, int, str]:
    kind = _PREFERENCE.index(checkpoint.kind)
    return -checkpoint.version, kind, checkpoint.files[0].path
