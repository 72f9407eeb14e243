"""Callbacks for the JVM while Spark plans: which files may match, and which rows are deleted.

Both are small objects that implement a Java interface. The JVM keeps a reference to them as long
as it holds the file index they serve.
"""

import logging
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.producer import in_order
from headrace.errors import HeadraceError, RequestError
from headrace.expr.node import Predicate
from headrace.protocol.action import DeletionVector
from headrace.rows.deletion_vector import read_deletion_vector
from headrace.spark.column import ScanColumns
from headrace.spark.file_system import spark_addresses
from headrace.spark.pin import PinnedFiles, text_of
from headrace.spark.predicate import decode_predicate
from headrace.storage.address import Address
from headrace.storage.store import Store
from headrace.table import Snapshot

NOT_UNDERSTOOD = (RequestError, ValueError, KeyError, OverflowError)
"""The errors for a filter that the kernel cannot express."""

_READ_AT_ONCE = 16
"""The number of vectors read at a time: on a remote store, each is a request."""

_LOGGER = logging.getLogger("headrace.spark")


class _JavaFunction:
    """Declares to py4j the interface that an object implements, under the name `Java`."""

    class Java:
        implements: ClassVar[list[str]] = ["java.util.function.Function"]


class MatchingFiles(_JavaFunction):
    """Returns the paths of the files that may contain a row that matches a predicate."""

    def __init__(self, snapshot: Snapshot, columns: ScanColumns, address: Address | None) -> None:
        self._snapshot = snapshot
        self._address = address
        self._columns = columns

    def apply(self, predicate: str) -> bytes | None:
        """Return the paths, one per line; None if nothing is known and all files must be read."""
        try:
            return self._paths(decode_predicate(predicate, self._columns))
        except NOT_UNDERSTOOD as error:
            _LOGGER.info("no files are skipped for %s: %r", predicate, error)
        except Exception:
            _LOGGER.warning("no files could be skipped for %s", predicate, exc_info=True)
        return None

    def _paths(self, where: Predicate) -> bytes:
        paths = []
        for batch in self._snapshot.scan(where=where).batches(columns=("uri",)):
            uris = spark_addresses(batch["uri"], self._address)
            lines = pc.binary_join_element_wise(uris, "\n", "")
            paths.append(bytes(text_of(lines.cast(pa.large_string()))))
        return b"".join(paths)


class VectorReader(_JavaFunction):
    """Returns the deletion vectors of files, given their positions in the stream."""

    def __init__(self, files: PinnedFiles, store: Store) -> None:
        self._files = files
        self._store = store

    def apply(self, ordinals: bytes) -> bytes | str:
        """Return the vectors in the same order, as an Arrow stream of portable roaring bitmaps.

        An error is returned as text, which Spark then raises: deleted rows must not reappear.
        """
        requested = pa.array(np.frombuffer(ordinals, np.int32), pa.int64())
        indexes = pc.index_in(requested, value_set=self._files.vector_ordinals)
        try:
            vectors = self._files.vectors.take(indexes).to_pylist()
            threads = min(_READ_AT_ONCE, len(vectors))
            bitmaps = list(in_order(self._bitmap, vectors, threads=threads, name="headrace-vector"))
        except HeadraceError as error:
            return f"[{error.code}] {error}"
        except OverflowError as error:
            return str(error)
        return _stream(pa.record_batch([pa.array(bitmaps, pa.binary())], ["vector"]))

    def _bitmap(self, vector: dict[str, Any]) -> bytes:
        return read_deletion_vector(self._store, DeletionVector(**vector)).portable()


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
