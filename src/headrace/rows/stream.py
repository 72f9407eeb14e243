"""Reads several data files concurrently, and returns their batches in the order of the files.

Files enter as the log is replayed: a thread that needs a file advances the replay, so the log is
read only as far as needed. Batches leave through one bounded producer.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

from headrace.engines.producer import Producer, one_at_a_time
from headrace.engines.production import Backpressure, Order
from headrace.plan.cancellation import Cancellation
from headrace.rows.option import RowOptions

S = TypeVar("S")
B = TypeVar("B")


def stream_batches(  # noqa: PLR0913  (the parts of a producer)
    files: Generator[S, None, None],
    read: Callable[[S], Generator[B, None, None]],
    *,
    options: RowOptions,
    cancellation: Cancellation,
    release: Callable[[], None],
    start_with: int | None = None,
) -> Producer[B]:
    """Return the batches of all files; nothing is read before the first one is requested.

    Args:
        files: The files to read, in order.
        read: Yields the batches of a file, in a thread.
        options: How many files to read at once, and how many batches of each to read ahead.
        cancellation: Ends the reading early.
        release: Called once, after the last thread has ended.
        start_with: The number of files to read at first; it doubles with each file consumed.
    """
    return Producer(
        one_at_a_time(read),
        files,
        order=Order.BY_UNIT,
        backpressure=Backpressure(
            threads=options.files_at_once, ahead=options.batches_ahead, start_with=start_with
        ),
        cancellation=cancellation,
        release=release,
        name="headrace-rows",
    )
