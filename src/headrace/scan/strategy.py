"""Chooses the strategy of a scan by the rules of `auto`, and records the decision.

A scan's options and the files of its log enter; a `ScanDecision` and the first phase leave.
"""

import warnings

import msgspec

from headrace.expr.reference import can_prune_by_partition
from headrace.log.segment import Segment
from headrace.metrics.counts import counted
from headrace.phases.phase import Phase
from headrace.phases.scan import plan_forward_scan, plan_scan
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.phases.tripwire import CheckTripwire
from headrace.protocol.log_file import LogFile
from headrace.scan.options import ScanOptions, Strategy, Tripwire

_LARGE_STATE = 100_000
"""Files. A smaller state is read even without pruning: it takes fewer round trips."""
_COMMIT_BYTES_PER_FILE = 16
"""A checkpoint saves about 0.4 µs for each file (`benchmarks.state_accelerator`). Commits of this
size take less, unless they are decoded at under 40 MB/s."""


class ScanDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen strategy, and why."""

    strategy: Strategy
    rule: str
    """The name of the rule that decided."""
    because: str
    commit_files: int
    """The number of commits and compaction files to read. Each counts once, although a forward scan
    and the strict tripwire open files a second time."""
    commit_bytes: int
    """Their size, as far as the segment knows it: an increment may read older commits."""
    checkpoint_files: int
    checkpoint_bytes: int
    """The size of those files; for a V2 checkpoint, that of the manifest without its sidecars."""
    state_version: int | None = None
    """The version of the state that replaces a checkpoint; None if there is none."""
    state_manifests: int = 0
    state_bytes: int = 0
    """The size of all its manifests, as far as the state records it."""
    unused_state: int | None = None
    """The version of a state that is not read, since the checkpoint is read faster."""

    def __str__(self) -> str:
        commits = counted(self.commit_files, "commit")
        checkpoint = counted(self.checkpoint_files, "checkpoint file")
        size_bytes = self.checkpoint_bytes
        if self.state_version is not None:
            manifests = counted(self.state_manifests, "manifest")
            checkpoint, size_bytes = f"state {self.state_version}, {manifests}", self.state_bytes
        elif self.unused_state is not None:
            checkpoint = f"instead of state {self.unused_state}, {checkpoint}"
        return (
            f"{self.strategy.value} by rule {self.rule}: {self.because} "
            f"({commits} of {self.commit_bytes:,} bytes, "
            f"{checkpoint} of {size_bytes:,} bytes)"
        )


def choose_base(segment: Segment, *, limit: int | None, request: ScanRequest) -> Segment:
    """Return the segment to scan: on its state, or on the checkpoint if that is read faster.

    Only partition bounds prune a state. Where all its entries would be read, a checkpoint is
    decoded faster, unless the commits after it take longer to decode than that saves.
    """
    state, log = segment.state, segment.without_state
    if state is None or log is None or log.checkpoint is None or limit is not None:
        return segment
    if request.predicate is not None and can_prune_by_partition(request.predicate):
        return segment
    files = state.manifest.num_files
    is_parquet = all(file.path.endswith(".parquet") for file in log.checkpoint.files)
    if files < _LARGE_STATE or not is_parquet:
        return segment
    more_bytes = _replayed_bytes(log) - _replayed_bytes(segment)
    if more_bytes > files * _COMMIT_BYTES_PER_FILE:
        return segment
    return msgspec.structs.replace(log, with_state=segment)


def _replayed_bytes(segment: Segment) -> int:
    return sum(file.size_bytes for file in segment.replay_newest_first)


def decide(
    options: ScanOptions, *, segment: Segment, limit: int | None, request: ScanRequest
) -> ScanDecision:
    """Choose a strategy by the first rule that applies."""
    strategy, rule, because = _rule(options, segment=segment, limit=limit, request=request)
    base, state = segment.checkpoint, segment.state
    unused = None if segment.with_state is None else segment.with_state.state
    commits = _commits_to_read(strategy, options.tripwire, segment=segment)
    return ScanDecision(
        strategy=strategy,
        rule=rule,
        because=because,
        commit_files=len(commits),
        commit_bytes=sum(file.size_bytes for file in commits),
        checkpoint_files=0 if base is None else len(base.files),
        checkpoint_bytes=0 if base is None else base.size_bytes,
        state_version=None if state is None else state.version,
        state_manifests=0 if state is None else len(state.manifest.manifests),
        state_bytes=0 if state is None else state.size_bytes,
        unused_state=None if unused is None else unused.version,
    )


def decide_increment(segment: Segment, *, since: int) -> ScanDecision:
    """Return what an increment reads; there is nothing to choose."""
    newer = [file for file in segment.commits_newest_first if (file.version or 0) > since]
    return ScanDecision(
        strategy=Strategy.REVERSE,
        rule="increment",
        because=f"the files of version {since} are known",
        commit_files=segment.version - since,
        commit_bytes=sum(file.size_bytes for file in newer),
        checkpoint_files=0,
        checkpoint_bytes=0,
    )


def _commits_to_read(
    strategy: Strategy, tripwire: Tripwire, *, segment: Segment
) -> tuple[LogFile, ...]:
    """Return the files to replay, and every single commit if a tripwire checks them."""
    replayed = segment.replay_newest_first
    if strategy is Strategy.FORWARD or tripwire is Tripwire.LENIENT:
        return replayed
    return tuple(dict.fromkeys((*segment.commits_newest_first, *replayed)))


def first_phase(
    decision: ScanDecision, options: ScanOptions, *, request: ScanRequest, segment: Segment
) -> Phase[ScanOutcome]:
    """Return the first phase of a scan."""
    if decision.strategy is Strategy.FORWARD:
        return plan_forward_scan(request, segment)
    if options.tripwire is Tripwire.STRICT:
        return CheckTripwire(request=request, segment=segment, fallback=options.fallback)
    return plan_scan(request, segment)


def _rule(
    options: ScanOptions, *, segment: Segment, limit: int | None, request: ScanRequest
) -> tuple[Strategy, str, str]:
    if options.strategy is not Strategy.AUTO:
        return options.strategy, "asked", "it was requested"
    if segment.base is None:
        return Strategy.REVERSE, "no-checkpoint", "there are only commits"
    if not segment.commits_newest_first:
        base = "checkpoint" if segment.state is None else "state"
        return Strategy.FORWARD, "no-commits", f"nothing is newer than the {base}"
    if limit is not None:
        return Strategy.REVERSE, "limit", "the newest commits may satisfy it"
    if request.predicate is not None:
        return Strategy.REVERSE, "predicate", "recent data is in recent commits"
    return (
        Strategy.REVERSE,
        "whole-table",
        "the first file comes earliest, and the commits are read only once",
    )


def __getattr__(name: str) -> type[ScanDecision]:
    """Return a deprecated name's object, with a warning."""
    if name != "Decision":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("use `ScanDecision` instead of `Decision`", DeprecationWarning, stacklevel=2)
    return ScanDecision
