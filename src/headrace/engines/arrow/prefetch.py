"""Fetching commits ahead of the one that is replayed, where fetching takes its time.

On a local disk nothing is gained, and nothing is fetched ahead. On a remote store the next few
commits are on their way while one is decoded; how many is bounded, large ones are streamed
when their turn comes, and closing cancels what has not begun.
"""

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from headrace.protocol.log_file import LogFile
from headrace.storage.store import Store

LARGEST_AHEAD_BYTES = 4 << 20
"""A commit that is larger than this is not fetched ahead."""


def fetched_ahead(
    store: Store, files: tuple[LogFile, ...], *, parallelism: int
) -> Generator[tuple[LogFile, bytes | None], None, None]:
    """Each file in order, with its content where it was fetched ahead."""
    if parallelism <= 1 or len(files) <= 1 or store.local_path(files[0].path) is not None:
        yield from ((file, None) for file in files)
        return
    waiting = iter(files)
    pool = ThreadPoolExecutor(parallelism, thread_name_prefix="headrace-commit")
    try:
        ahead: deque[tuple[LogFile, Future[bytes] | None]] = deque(
            (file, _fetch(pool, store, file)) for file in islice(waiting, parallelism)
        )
        while ahead:
            file, content = ahead.popleft()
            yield file, None if content is None else content.result()
            ahead.extend((more, _fetch(pool, store, more)) for more in islice(waiting, 1))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _fetch(pool: ThreadPoolExecutor, store: Store, file: LogFile) -> "Future[bytes] | None":
    if file.size_bytes > LARGEST_AHEAD_BYTES:
        return None
    return pool.submit(store.read, file.path)
