"""The segment: the base and the commits after it that make up one version of a table.

A listing of the log enters `index_log`; `LogIndex.segment` returns what to read for a version.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headrace.errors import LogGapError, TableNotFoundError, VersionNotFoundError
from headrace.log.checkpoint import Checkpoint, complete_checkpoints
from headrace.log.name import (
    CheckpointName,
    ChecksumName,
    CommitName,
    CompactionName,
    parse_name,
)
from headrace.log.state import State
from headrace.protocol.log_file import LogFile


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """What to read for one version: commits newest first, then the base below them."""

    version: int
    commits_newest_first: tuple[LogFile, ...]
    compactions: tuple[LogFile, ...] = ()
    checkpoint: Checkpoint | None = None
    checksum: LogFile | None = None
    commit: LogFile | None = None
    """The commit file of `version` itself, even if a checkpoint makes it unnecessary."""
    excluded: frozenset[str] = frozenset()
    """Checkpoint files that turned out to be unreadable."""
    state: State | None = None
    """The state below the commits, if that is the base; then `checkpoint` is None."""
    without_state: "Segment | None" = None
    """The same version based on the log alone, if that describes it too; set if `state` is."""
    with_state: "Segment | None" = None
    """The same version based on a state: the fallback if the checkpoint is unusable."""
    abandoned: int = 0
    """How many unreadable parts were replaced to obtain this segment."""

    @property
    def replay_newest_first(self) -> tuple[LogFile, ...]:
        """The commits, with ranges of them replaced by the compaction files that summarise them."""
        widest: dict[int, tuple[int, LogFile]] = {}
        for file in self.compactions:
            assert file.compacted is not None
            start, end = file.compacted
            if end not in widest or start < widest[end][0]:
                widest[end] = (start, file)
        files: list[LogFile] = []
        next_version = self.version
        for commit in self.commits_newest_first:
            assert commit.version is not None
            if commit.version > next_version:
                continue
            if commit.version in widest:
                start, file = widest[commit.version]
                files.append(file)
                next_version = start - 1
            else:
                files.append(commit)
                next_version = commit.version - 1
        return tuple(files)

    @property
    def base(self) -> Checkpoint | State | None:
        """The checkpoint or state that the commits build on."""
        return self.checkpoint if self.state is None else self.state

    @property
    def log(self) -> "Segment":
        """The same version without a state, if the log alone describes it."""
        return self if self.without_state is None else self.without_state

    @property
    def files(self) -> tuple[LogFile, ...]:
        """Every file that the segment refers to."""
        single = (file for file in (self.checksum, self.commit) if file is not None)
        base = () if self.checkpoint is None else self.checkpoint.files
        if self.state is not None:
            base = (self.state.file,)
        return (*self.commits_newest_first, *self.compactions, *base, *single)

    @property
    def commits(self) -> tuple[LogFile, ...]:
        """The listed commits, including that of `version` even if the base already covers it."""
        return (*self.commits_newest_first, *(() if self.commit is None else (self.commit,)))

    def based_on(self, state: State, *, commits: Mapping[int, LogFile]) -> "Segment | None":
        """Return the same version based on a state; None if a commit after the state is missing.

        Args:
            state: A state of this version or an older one.
            commits: The known commits, by version.
        """
        newer = [commits.get(v) for v in range(self.version, state.version, -1)]
        if state.version > self.version or None in newer:
            return None
        compactions = [
            c for c in self.compactions if _lies_within(c, state.version + 1, self.version)
        ]
        return msgspec.structs.replace(
            self,
            commits_newest_first=tuple(file for file in newer if file is not None),
            compactions=tuple(compactions),
            checkpoint=None,
            state=state,
            without_state=self,
        )

    def rewritten(self, listed: Mapping[int, LogFile]) -> LogFile | None:
        """Return a commit that differs in a listing, which shows that the log was replaced."""
        known = self.commits
        changed = (file for file in known if listed.get(file.version or 0, file) != file)
        return next(changed, None)

    def without_compactions(self) -> "Segment":
        """Return the same version, read commit by commit."""
        return msgspec.structs.replace(self, compactions=(), abandoned=self.abandoned + 1)


class LogIndex(msgspec.Struct, frozen=True, kw_only=True):
    """A listing, sorted by the kind of each file. Files in `excluded` are ignored."""

    table: str
    excluded: frozenset[str] = frozenset()
    commits: dict[int, LogFile] = msgspec.field(default_factory=dict)
    checksums: dict[int, LogFile] = msgspec.field(default_factory=dict)
    compactions: list[LogFile] = msgspec.field(default_factory=list)
    checkpoints: list[Checkpoint] = msgspec.field(default_factory=list)

    @property
    def newest(self) -> int:
        """The newest version with a commit or a checkpoint.

        Raises:
            TableNotFoundError: there is none.
        """
        versions = [*self.commits, *(c.version for c in self.checkpoints[:1])]
        if not versions:
            raise TableNotFoundError(table=self.table)
        return max(versions)

    @property
    def available(self) -> list[range]:
        """The versions that can be rebuilt: ranges of commits from a checkpoint or from 0 on."""
        bases = {checkpoint.version for checkpoint in self.checkpoints}
        ranges: list[range] = []
        for version in sorted(bases | self.commits.keys()):
            if ranges and ranges[-1].stop == version:
                ranges[-1] = range(ranges[-1].start, version + 1)
            elif version == 0 or version in bases:
                ranges.append(range(version, version + 1))
        return ranges

    def base(self, version: int | None) -> Checkpoint | None:
        """Return the best checkpoint at or before `version` (None: the newest version)."""
        return next((c for c in self.checkpoints if version is None or c.version <= version), None)

    def segment(self, version: int | None = None) -> Segment:
        """Return what to read for `version` (None: the newest).

        Raises:
            LogGapError: commits are missing between the base and the version.
            VersionNotFoundError: the version is newer than the log, or no longer available.
        """
        newest = self.newest
        target = newest if version is None else version
        if not 0 <= target <= newest:
            raise self._not_found(target)
        base = self.base(target)
        first = 0 if base is None else base.version + 1
        missing = gaps(self.commits, first=first, last=target)
        if missing:
            if version is not None and base is None and self.checkpoints:
                raise self._not_found(target)
            raise LogGapError(table=self.table, missing=missing, available=self.available)
        compactions = [c for c in self.compactions if _lies_within(c, first, target)]
        checksums = [v for v in self.checksums if first - 1 <= v <= target]
        return Segment(
            version=target,
            commits_newest_first=tuple(self.commits[v] for v in range(target, first - 1, -1)),
            compactions=tuple(compactions),
            checkpoint=base,
            checksum=self.checksums[max(checksums)] if checksums else None,
            commit=self.commits.get(target),
            excluded=self.excluded,
        )

    def _not_found(self, version: int) -> VersionNotFoundError:
        return VersionNotFoundError(
            table=self.table, version=version, available=self.available, newest=self.newest
        )


def index_log(
    files: Iterable[LogFile],
    *,
    table: str,
    tail: Sequence[LogFile] | None = None,
    exclude: frozenset[str] = frozenset(),
) -> LogIndex:
    """Sort a listing by the kind of each file; a ratified tail replaces the commits it covers."""
    index = LogIndex(table=table, excluded=exclude)
    checkpoints: list[tuple[CheckpointName, LogFile]] = []
    for file in files:
        if file.path in exclude:
            continue
        match parse_name(file.path.rpartition("/")[2]):
            case CommitName(version):
                index.commits[version] = msgspec.structs.replace(file, version=version)
            case ChecksumName(version):
                index.checksums[version] = msgspec.structs.replace(file, version=version)
            case CompactionName(start, end):
                index.compactions.append(msgspec.structs.replace(file, compacted=(start, end)))
            case CheckpointName() as name:
                checkpoints.append((name, file))
            case None:
                pass
    if tail:
        _put_tail(index, tail)
        newest = max(index.commits)
        checkpoints = [(name, file) for name, file in checkpoints if name.version <= newest]
    index.checkpoints.extend(complete_checkpoints(checkpoints))
    return index


def gaps(versions: Iterable[int], *, first: int, last: int) -> list[range]:
    """Return the ranges of versions from `first` to `last` that are missing from `versions`.

    A stray file name may have a far-off version, so the versions are not counted one by one.
    """
    missing: list[range] = []
    expected = first
    for version in sorted(v for v in versions if first <= v <= last):
        if version > expected:
            missing.append(range(expected, version))
        expected = version + 1
    if expected <= last:
        missing.append(range(expected, last + 1))
    return missing


def _lies_within(compaction: LogFile, first: int, last: int) -> bool:
    """Whether all commits that a compaction file summarises are between `first` and `last`."""
    assert compaction.compacted is not None
    start, end = compaction.compacted
    return first <= start <= end <= last


def _put_tail(index: LogIndex, tail: Sequence[LogFile]) -> None:
    """Replace all commits from the first one of the tail on: there, the catalog alone counts."""
    ratified = {file.version: file for file in tail if file.version is not None}
    for version in [v for v in index.commits if v >= min(ratified)]:
        del index.commits[version]
    index.commits.update(ratified)
