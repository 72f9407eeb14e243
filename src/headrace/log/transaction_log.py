"""The log of an IndexTables table by its file names: a listing enters, what to read leaves.

A version is recorded by its own file (`N.json`), by its state (`state-vN`), or by both. Some
writers write only the state, from version 1 on.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from headrace.errors import LogGapError, TableNotFoundError, VersionNotFoundError
from headrace.log.dialect import INDEXTABLES
from headrace.log.name import MAX_VERSION
from headrace.log.segment import gaps
from headrace.log.state_name import STATE_FILE, parse_state_directory
from headrace.protocol.log_file import LogFile
from headrace.protocol.state import StateManifest

_VERSION = re.compile(r"(?P<version>\d{20})\.json", re.ASCII)
_CHECKPOINT = re.compile(r"(?P<version>\d{20})\.checkpoint\.json", re.ASCII)


class BaseChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What to read for one version: a base, if any, and the version files after it."""

    version: int
    state: LogFile | None = None
    checkpoint: LogFile | None = None
    base_version: int = -1
    commits_newest_first: tuple[LogFile, ...] = ()


class TransactionLog(msgspec.Struct, frozen=True, kw_only=True):
    """A listing of `_transaction_log`, sorted by the kind of each file."""

    table: str
    commits: dict[int, LogFile] = msgspec.field(default_factory=dict)
    states: dict[int, LogFile] = msgspec.field(default_factory=dict)
    checkpoints: dict[int, LogFile] = msgspec.field(default_factory=dict)
    files: dict[str, LogFile] = msgspec.field(default_factory=dict)
    """Every file by path: checkpoints refer to their parts by path."""

    @property
    def versions(self) -> list[int]:
        """The recorded versions, oldest first."""
        return sorted({*self.commits, *self.states, *self.checkpoints})

    @property
    def newest(self) -> int:
        """The newest version.

        Raises:
            TableNotFoundError: there is none.
        """
        if not self.versions:
            raise TableNotFoundError(table=self.table)
        return self.versions[-1]

    def choose(self, version: int | None = None) -> BaseChoice:
        """Return what to read for a version (None: the newest).

        Raises:
            VersionNotFoundError: nothing records the version.
            LogGapError: version files are missing between the base and the version.
        """
        newest = self.newest
        target = newest if version is None else version
        if not 0 <= target <= newest or target not in self.versions:
            raise self._not_found(target)
        bases = sorted({*self.states, *self.checkpoints}, reverse=True)
        for base in (v for v in bases if v <= target and self._is_base(v, newest)):
            if not gaps(self.commits, first=base + 1, last=target):
                return self._choice(target, base)
        missing = gaps(self.commits, first=0, last=target)
        if missing:
            raise LogGapError(table=self.table, missing=missing, available=self._available())
        return self._choice(target, -1)

    def _is_base(self, version: int, newest: int) -> bool:
        """Whether a state or checkpoint describes the version in its name.

        A clean-up may leave a state named version 0 that holds the newest files.
        """
        return version > 0 or newest == 0 or 0 not in self.commits

    def check_base(self, state: StateManifest, *, version: int) -> None:
        """Check that a state can be the base of a version.

        A clean-up by the original writer leaves a state named version 0 that holds the files of a
        later version. States with a commit id never do. The newest version can be based on either:
        replaying all version files ends with the same files.

        Raises:
            VersionNotFoundError: the state may hold the files of a later version.
        """
        if version < self.newest and self.is_doubtful(state):
            bases = sorted(base for base in {*self.states, *self.checkpoints} if base > 0)
            first = bases[0] if bases else self.newest
            raise self._not_found(version, known=[v for v in self.versions if v >= first])

    def is_doubtful(self, state: StateManifest) -> bool:
        """Whether a state named version 0 may hold the files of a later version."""
        return state.state_version == 0 < self.newest and state.commit_id is None

    def _choice(self, version: int, base: int) -> BaseChoice:
        state = self.states.get(base)
        return BaseChoice(
            version=version,
            base_version=base,
            state=state,
            checkpoint=self.checkpoints.get(base) if state is None else None,
            commits_newest_first=tuple(self.commits[v] for v in range(version, base, -1)),
        )

    def version_at(self, timestamp_ms: int) -> int | None:
        """Return the last version recorded at or before a time, by the store's clock."""
        times = {
            version: min(
                file.modified_ms
                for kind in (self.commits, self.states, self.checkpoints)
                if (file := kind.get(version)) is not None
            )
            for version in self.versions
        }
        return max((v for v, time in times.items() if time <= timestamp_ms), default=None)

    def _available(self) -> list[range]:
        return [
            range(version, version + 1) for version in sorted({*self.states, *self.checkpoints})
        ]

    def _not_found(
        self, version: int, *, known: Sequence[int] | None = None
    ) -> VersionNotFoundError:
        ranges: list[range] = []
        for available in self.versions if known is None else known:
            if ranges and ranges[-1].stop == available:
                ranges[-1] = range(ranges[-1].start, available + 1)
            else:
                ranges.append(range(available, available + 1))
        return VersionNotFoundError(
            table=self.table, version=version, available=ranges, newest=self.newest
        )


def index_transaction_log(files: Iterable[LogFile], *, table: str) -> TransactionLog:
    """Sort a listing of the whole tree by the kind of each file; other files are ignored."""
    log = TransactionLog(table=table)
    prefix = f"{INDEXTABLES.log_directory}/"
    for file in files:
        name = file.path.removeprefix(prefix)
        if name == file.path:
            continue
        log.files[file.path] = file
        folder, _, last = name.rpartition("/")
        if last == STATE_FILE and (version := parse_state_directory(folder)) is not None:
            log.states[version] = msgspec.structs.replace(file, version=version)
        elif not folder and (version := _number(_VERSION, last)) is not None:
            log.commits[version] = msgspec.structs.replace(file, version=version)
        elif not folder and (version := _number(_CHECKPOINT, last)) is not None:
            log.checkpoints[version] = file
    return log


def _number(pattern: re.Pattern[str], name: str) -> int | None:
    match = pattern.fullmatch(name)
    version = None if match is None else int(match["version"])
    return None if version is None or version > MAX_VERSION else version
