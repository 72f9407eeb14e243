"""Sorts entries by partition and path in bounded memory: sorted runs on disk, then a merge."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Self

from headrace.avro.codec import Codec
from headrace.avro.container import Header, RawBlock
from headrace.avro.record import decode_block, encode_records
from headrace.protocol.partition_bounds import sort_key
from headrace.protocol.schema import DataType
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import Schema

ENTRIES_IN_MEMORY = 50_000
_BLOCK_ENTRIES = 1024


class EntrySort:
    """Accepts entries in any order and returns them sorted by partition, then path."""

    def __init__(
        self,
        types: Mapping[str, DataType],
        *,
        schema: Schema,
        limit: int = ENTRIES_IN_MEMORY,
    ) -> None:
        self._types = types
        self._limit = limit
        self._codec = Codec(level=1)
        self._header = Header(
            path="a sorted run",
            schema=schema,
            codec=self._codec,
            sync=b"",
            metadata={},
            length_bytes=0,
        )
        self._entries: list[Entry] = []
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()

    def key(self, entry: Entry) -> tuple[Any, str]:
        """Return the sort key of an entry."""
        return sort_key(entry["partitionValues"], self._types), entry["path"]

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries; when the limit is reached, spill a sorted run to disk."""
        for entry in entries:
            self._entries.append(entry)
            if len(self._entries) >= self._limit:
                self._spill()

    def sorted(self) -> Iterator[Entry]:
        """Return all entries in order."""
        self._entries.sort(key=self.key)
        if not self._runs:
            return iter(self._entries)
        runs = [self._read(run) for run in self._runs]
        return heapq.merge(*runs, self._entries, key=self.key)

    def _spill(self) -> None:
        self._entries.sort(key=self.key)
        run = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the sort)
        for start in range(0, len(self._entries), _BLOCK_ENTRIES):
            entries = self._entries[start : start + _BLOCK_ENTRIES]
            payload = self._codec.compress(encode_records(entries, self._header.schema))
            run.write(len(entries).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + payload)
        self._runs.append(run)
        self._entries = []

    def _read(self, run: IO[bytes]) -> Iterator[Entry]:
        run.seek(0)
        while head := run.read(8):
            count, size = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
            yield from decode_block(RawBlock(count=count, payload=run.read(size)), self._header)
