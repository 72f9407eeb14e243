"""Read and decompress the column chunks that an answer needs, and decode nothing.

No reader of these columns can be faster on one thread. This is a floor, not an answer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.question import Ask, Question

_PATH = "add.path"
_COLUMNS = {
    Ask.COUNT: [_PATH],
    Ask.PREDICATE: [_PATH, "add.stats"],
    Ask.BATCHES: [
        _PATH,
        "add.partitionValues.key_value.key",
        "add.partitionValues.key_value.value",
        "add.size",
        "add.modificationTime",
        "add.stats",
    ],
}


class Contestant:
    """Returns the number of rows that the page headers of the path column claim."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def floor(self) -> int:
        rows = 0
        log = Path(self.question.table) / "_delta_log"
        for path in sorted(log.glob("*.checkpoint.parquet")):
            metadata = pq.read_metadata(path)
            with path.open("rb", buffering=0) as file:
                for chunk in _chunks(metadata, _COLUMNS[self.question.ask]):
                    values = _decompress(file, chunk)
                    rows += values if chunk.path_in_schema == _PATH else 0
        return rows


def _chunks(metadata: Any, columns: list[str]) -> Iterator[Any]:
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    for group in range(metadata.num_row_groups):
        for column in columns:
            yield metadata.row_group(group).column(paths.index(column))


def _decompress(file: BinaryIO, chunk: Any) -> int:
    """Decompress every page of a chunk, and return the number of values."""
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    file.seek(start)
    data = memoryview(file.read(chunk.total_compressed_size))
    codec = None if chunk.compression == "UNCOMPRESSED" else pa.Codec(chunk.compression.lower())
    values = at = 0
    while at < len(data):
        header = _Thrift(data, at)
        fields = header.struct()
        at = header.at + fields[3]
        if codec is not None:
            codec.decompress(data[header.at : at], fields[2])
        values += fields[5][1] if 5 in fields else 0
    return values


class _Thrift:
    """Just enough of Thrift's compact protocol to read a page header."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        name = 0
        while head := self._byte():
            name = name + (head >> 4) if head >> 4 else self._zigzag()
            fields[name] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 8:
                size = self._varint()
                self.at += size
                return size
            case 12:
                return self.struct()
            case _:
                msg = f"a page header has no field of type {kind}"
                raise ValueError(msg)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (octet := self._byte()) & 128:
            value |= (octet & 127) << shift
            shift += 7
        return value | octet << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
