"""Rows of several data files, read at once and given in the order of the files.

Files enter as they are found: a thread that needs one advances the log, so the log is read while
data files are, and only as far as they are. Batches leave through one bounded producer.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

from headrace.engines.producer import Producer, one_at_a_time
from headrace.engines.production import Backpressure, Order
from headrace.plan.cancellation import Cancellation
from headrace.rows.option import RowOptions

S = TypeVar("S")
B = TypeVar("B")


def stream_batches(  # noqa: PLR0913  (what a producer of rows is made of)
    files: Generator[S, None, None],
    read: Callable[[S], Generator[B, None, None]],
    *,
    options: RowOptions,
    cancellation: Cancellation,
    release: Callable[[], None],
    start_with: int | None = None,
) -> Producer[B]:
    """The batches of all files; nothing is read before the first one is asked for.

    Args:
        files: What to read, in order.
        read: Makes the batches of a file, in a thread.
        options: How many files to read at once, and how many batches of each ahead.
        cancellation: What files and batches check while they have nothing to give.
        release: Called once, when no thread reads any more.
        start_with: How many files to begin with; it doubles with each that is consumed.
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
