"""What an engine gets from a run: how to read, where to count, and when to stop."""

import msgspec

from headrace.metrics.meter import Meter
from headrace.plan.cancellation import Cancellation


class ExecutionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine reads. None of it changes an answer."""

    commit_parallelism: int = 64
    """How many commits of a remote store are fetched ahead of the one that is replayed, at most."""
    leaf_parallelism: int = 2
    """How many row groups of a checkpoint are decoded at once."""
    batch_rows: int = 16_384
    """The most rows of a checkpoint in one batch."""
    row_groups_per_batch: int = 1
    """How many row groups of a checkpoint one thread takes at a time; they stay in order."""
    retry_attempts: int = 4
    """How often a read is tried before it counts as failed."""
    retry_backoff_ms: int = 50
    """How long to wait before the second try; it doubles from there."""
    retry_deadline_ms: int = 30_000
    """No try of a read starts later than this after the first, and one that hangs is broken off."""
    request_timeout_ms: int = 20_000
    """The longest that a request may go without an answer, or without the next part of one."""


class ExecutionContext(msgspec.Struct, frozen=True, kw_only=True):
    """One run's settings, its meter, and how it is called off."""

    settings: ExecutionSettings = msgspec.field(default_factory=ExecutionSettings)
    meter: Meter = msgspec.field(default_factory=Meter)
    cancellation: Cancellation = msgspec.field(default_factory=Cancellation)
