"""A store as one run reads it."""

from headrace.plan.context import ExecutionContext
from headrace.storage.counting import CountingStore
from headrace.storage.retry import Retrier, RetryPolicy
from headrace.storage.retrying import RetryingStore
from headrace.storage.store import Store


def reading_store(store: Store, context: ExecutionContext) -> Store:
    """The same store, whose reads are counted, and tried again until the run is called off."""
    settings, meter = context.settings, context.meter
    policy = RetryPolicy(
        attempts=settings.retry_attempts,
        backoff_ms=settings.retry_backoff_ms,
        deadline_ms=settings.retry_deadline_ms,
    )
    retrier = Retrier(
        policy=policy,
        on_retry=lambda *_: meter.count(retries=1),
        sleep=context.cancellation.sleep,
    )
    return RetryingStore(CountingStore(store, meter=meter), retrier=retrier)
