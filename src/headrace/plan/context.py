"""The context of one execution of plans: settings, meter and cancellation."""

import msgspec

from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation


class ExecutionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine reads. No setting changes an answer."""

    commit_parallelism: int = 64
    """The maximum number of commits of a remote store to prefetch ahead of replay."""
    leaf_parallelism: int = 2
    """The number of row groups of a checkpoint to decode concurrently."""
    batch_rows: int = 16_384
    """The maximum number of rows of a checkpoint in one batch."""
    row_groups_per_batch: int = 1
    """The number of row groups of a checkpoint that one thread takes at a time, in order."""
    retry_attempts: int = 4
    """The maximum number of attempts of a read."""
    retry_backoff_ms: int = 50
    """The delay before the second attempt; it doubles with each further attempt."""
    retry_deadline_ms: int = 30_000
    """No attempt starts later than this after the first; one that hangs is cancelled then."""
    request_timeout_ms: int = 20_000
    """The longest time to wait for an answer, or for the next part of one."""


class ExecutionContext(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, the meter and the cancellation of one execution."""

    settings: ExecutionSettings = msgspec.field(default_factory=ExecutionSettings)
    meter: Meter = msgspec.field(default_factory=Meter)
    cancellation: Cancellation = msgspec.field(default_factory=Cancellation)
