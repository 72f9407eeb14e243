"""Stored objects: how they are read."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.runs.blob import BlobStore
from headrace.storage.local import LocalStore

DIGEST = "0" * 64


class KeepingStore(LocalStore):
    """Keeps the bytes that were read last."""

    content: bytes = b""

    def read(self, path: str) -> bytes:
        """Read an object and keep it."""
        self.content = super().read(path)
        return self.content


def test_no_thread_holds_the_bytes_of_a_list_that_was_read(tmp_path: Path) -> None:
    """A thread of Arrow that frees Python's bytes while the process ends would abort it."""
    (tmp_path / "files").mkdir()
    numbers = range(1000)
    table = pa.table({"path": [str(number) for number in numbers], "size_bytes": list(numbers)})
    pq.write_table(table, tmp_path / "files" / f"{DIGEST}.parquet")
    store = KeepingStore(str(tmp_path))
    blobs, late = BlobStore(store), 0
    for _ in range(300):
        assert blobs.files(DIGEST) is not None
        late += sys.getrefcount(store.content) > 2  # the store's, and the argument
    assert late == 0
