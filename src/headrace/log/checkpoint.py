"""Find the complete checkpoints in a listing, and rank them.

The checkpoint files of a listing enter; complete checkpoints leave, best first.
"""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headrace.log.name import CheckpointKind, CheckpointName
from headrace.protocol.log_file import LogFile


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A complete checkpoint: the whole table at `version`."""

    version: int
    kind: CheckpointKind
    files: tuple[LogFile, ...]

    @property
    def size_bytes(self) -> int:
        """The size of its own files, without sidecars."""
        return sum(file.size_bytes for file in self.files)


_PREFERENCE = (
    CheckpointKind.V2_PARQUET,
    CheckpointKind.MULTI_PART,
    CheckpointKind.CLASSIC,
    CheckpointKind.V2_JSON,
)
"""Checkpoints of one version are equally valid; those that split into leaves are preferred."""


def complete_checkpoints(
    named_files: Iterable[tuple[CheckpointName, LogFile]],
) -> list[Checkpoint]:
    """Return every complete checkpoint, best first: newest, then by kind, then by name.

    Multi-part checkpoints with a missing part and empty files are ignored.
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
        # Compare the count first: a name may claim billions of parts.
        if len(by_part) == count and by_part.keys() == set(range(1, count + 1)):
            files = tuple(by_part[part] for part in sorted(by_part))
            complete.append(
                Checkpoint(version=version, kind=CheckpointKind.MULTI_PART, files=files)
            )
    return sorted(complete, key=_rank)


def _rank(checkpoint: Checkpoint) -> tuple[int, int, str]:
    kind = _PREFERENCE.index(checkpoint.kind)
    return -checkpoint.version, kind, checkpoint.files[0].path
