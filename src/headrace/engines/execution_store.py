"""Wraps a store for one execution: reads are counted and retried.

A store and an execution context enter; a store leaves.
"""

from functools import partial

from headrace.errors import StoreFailedError, StoreThrottledError
from headrace.metrics.meter import Meter
from headrace.plan.context import ExecutionContext
from headrace.storage.counting import CountingStore
from headrace.storage.retry import Retrier, RetryPolicy
from headrace.storage.retrying import RetryingStore
from headrace.storage.store import Store


def execution_store(store: Store, context: ExecutionContext) -> Store:
    """Wrap a store so that reads are counted, and retried until the execution is cancelled."""
    settings, meter = context.settings, context.meter
    policy = RetryPolicy(
        attempts=settings.retry_attempts,
        backoff_ms=settings.retry_backoff_ms,
        deadline_ms=settings.retry_deadline_ms,
        timeout_ms=settings.request_timeout_ms,
    )
    retrier = Retrier(
        policy=policy,
        on_retry=partial(_count_retry, meter),
        stop=context.cancellation,
        sleep=context.cancellation.sleep,
    )
    return RetryingStore(CountingStore(store, meter=meter), retrier=retrier)


def _count_retry(meter: Meter, _path: str, _attempt: int, error: StoreFailedError) -> None:
    meter.count(retries=1, throttles=int(isinstance(error, StoreThrottledError)))
