"""A download of a checkpoint's columns that decodes them with pyarrow, and replays nothing.

It repeats requests of Headrace, many at once. A row group is decoded by one of as many threads as
there are cores, as soon as its last request is answered. Where its bytes are is known in advance.
So this is what a program could reach on this machine that only has to download and decode.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.slow_store import Request

COLUMNS = (
    "add.path",
    "add.partitionValues",
    "add.size",
    "add.modificationTime",
    "add.stats",
)
AT_ONCE = 64


class PlainDecode:
    """The requests for the row groups of one checkpoint."""

    def __init__(self, checkpoint: Path, requests: Sequence[Request]) -> None:
        self._metadata = pq.read_metadata(checkpoint)
        self._size_bytes = checkpoint.stat().st_size
        of_file = [r for r in requests if r.path.endswith(checkpoint.name) and r.size_bytes]
        ends = [_end(self._metadata.row_group(g)) for g in range(self._metadata.num_row_groups)]
        self._groups: list[list[Request]] = [[] for _ in ends]
        for request in of_file:
            group = next((g for g, end in enumerate(ends) if request.start < end), None)
            if group is not None:
                self._groups[group].append(request)
        of_groups = {id(request) for group in self._groups for request in group}
        self._others = [r for r in requests if r.size_bytes and id(r) not in of_groups]
        self.size_bytes = sum(request.size_bytes for request in requests)

    def run(self, fetch: Callable[[Request], Any]) -> int:
        """Download everything, and return the number of bytes; `fetch` is a coroutine."""
        return asyncio.run(self._run(fetch))

    async def _run(self, fetch: Callable[[Request], Any]) -> int:
        turn = asyncio.Semaphore(AT_ONCE)
        content = np.empty(self._size_bytes, dtype=np.uint8)  # only what is written takes memory
        loop = asyncio.get_running_loop()

        async def get(request: Request) -> tuple[Request, Any]:
            async with turn:
                return request, memoryview(await fetch(request))

        async def read_group(group: int) -> int:
            parts = await asyncio.gather(*map(get, self._groups[group]))
            await loop.run_in_executor(pool, self._decode, content, group, parts)
            return sum(len(part) for _, part in parts)

        async def read_other(request: Request) -> int:
            return len((await get(request))[1])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            groups = [read_group(group) for group in range(len(self._groups))]
            return sum(await asyncio.gather(*groups, *map(read_other, self._others)))

    def _decode(self, content: Any, group: int, parts: Sequence[tuple[Request, Any]]) -> None:
        for request, part in parts:
            content[request.start : request.start + len(part)] = np.frombuffer(part, np.uint8)
        with pq.ParquetFile(pa.BufferReader(content), metadata=self._metadata) as file:
            file.read_row_group(group, columns=list(COLUMNS), use_threads=False)


def _end(group: Any) -> int:
    last = group.column(group.num_columns - 1)
    start = last.dictionary_page_offset or last.data_page_offset
    return int(start + last.total_compressed_size)
