"""A whole table as a value: its commits, and the other log files that a writer may leave.

Hypothesis draws plans (`tests.lake.strategies`); `Plan.write` writes one to disk.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.lake.checkpoint import Shape, write_checkpoint
from tests.lake.log import (
    History,
    commit_path,
    log_of,
    state_at,
    write_checksum,
    write_compaction,
    write_hint,
    write_history,
)
from tests.oracle import State


class Hint(Enum):
    """How `_last_checkpoint` relates to the checkpoints that exist."""

    ABSENT = "absent"
    RIGHT = "right"
    STALE = "stale"
    DANGLING = "dangling"
    TOO_NEW = "too new"
    CORRUPT = "corrupt"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A commit history with its checkpoints, compactions, checksums and hint.

    Commits up to `cleaned_to` are deleted; that version has a checkpoint, or it is -1.
    """

    history: History
    checkpoints: Mapping[int, tuple[Shape, ...]] = field(default_factory=dict)
    compactions: tuple[tuple[int, int], ...] = ()
    checksums: frozenset[int] = frozenset()
    hint: Hint = Hint.ABSENT
    cleaned_to: int = -1

    @property
    def latest(self) -> int:
        return len(self.history) - 1

    @property
    def readable(self) -> list[int]:
        """The versions that can still be reconstructed."""
        versions = range(len(self.history))
        return [v for v in versions if v >= self.cleaned_to or v in self.checkpoints]

    def state(self, version: int) -> State:
        """Return the expected state at a version."""
        return state_at(self.history, version)

    def until(self, version: int) -> "Plan":
        """Return the plan as of the time when `version` was the latest, before any cleanup."""
        return replace(
            self,
            history=self.history[: version + 1],
            checkpoints={v: files for v, files in self.checkpoints.items() if v <= version},
            compactions=tuple(files for files in self.compactions if files[1] <= version),
            checksums=frozenset(v for v in self.checksums if v <= version),
            cleaned_to=-1,
        )

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Write the table to a temporary folder, in memory where the system supports it."""
        memory = Path("/dev/shm")
        with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            yield self.write(Path(folder))

    def write(self, table: Path) -> Path:
        """Write all files of the plan, and return the table."""
        write_history(table, self.history)
        for version, shapes in self.checkpoints.items():
            for shape in shapes:
                write_checkpoint(table, version, self.state(version), shape)
        for first, last in self.compactions:
            write_compaction(table, first, last, self.history)
        for version in self.checksums:
            write_checksum(table, version, self.state(version))
        for version in range(self.cleaned_to + 1):
            commit_path(table, version).unlink()
        self._write_hint(table)
        return table

    def _write_hint(self, table: Path) -> None:
        known = sorted(self.checkpoints)
        match self.hint:
            case Hint.ABSENT:
                pass
            case Hint.RIGHT | Hint.STALE if not known:
                pass
            case Hint.RIGHT:
                write_hint(table, known[-1])
            case Hint.STALE:
                write_hint(table, known[0])
            case Hint.DANGLING:
                write_hint(table, next(v for v in range(len(known) + 1) if v not in known))
            case Hint.TOO_NEW:
                write_hint(table, self.latest + 5)
            case Hint.CORRUPT:
                (log_of(table) / "_last_checkpoint").write_bytes(b'{"version": 1')
