"""Stores bundles and lists of files as objects that are named by their digests.

An object is written once, and atomically: an object that exists is complete.
"""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import ObjectExistsError, ObjectNotFoundError
from headrace.pipeline.bundle.bundle import Bundle, is_intact
from headrace.pipeline.bundle.file_list import FileList
from headrace.storage.store import PutMode, WritableStore

_BUNDLES, _FILES = "bundles", "files"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PUTS_AT_ONCE = 8


class BlobStore:
    """The content-addressed objects of a project's state folder."""

    def __init__(self, store: WritableStore) -> None:
        """Take the store of the state folder."""
        self._store = store

    def put_bundle(self, bundle: Bundle) -> None:
        """Write the lists of a bundle's files, then the bundle, unless it is stored and intact."""
        stored = self.bundle(bundle.id)
        if stored is not None and is_intact(stored):
            return
        units = (unit for view in bundle.views.values() for unit in view.units)
        self._put_lists({unit.digest: unit.files for unit in units}.values())
        content = pa.compress(bundle.encode(), codec="zstd", asbytes=True)
        mode = PutMode.CREATE if stored is None else PutMode.OVERWRITE
        self._put(f"{_BUNDLES}/{bundle.id}.json.zst", content, mode)

    def bundle(self, bundle_id: str) -> bytes | None:
        """Return an encoded bundle; None if it is missing, empty if it cannot be decompressed."""
        if not _DIGEST.fullmatch(bundle_id):
            return None
        content = self._read(f"{_BUNDLES}/{bundle_id}.json.zst")
        if content is None:
            return None
        try:
            return bytes(pa.CompressedInputStream(pa.BufferReader(content), "zstd").read())
        except (OSError, pa.ArrowException):
            return b""

    def bundles(self, prefix: str) -> list[str]:
        """Return the ids of bundles with a prefix."""
        listed = self._store.list(_BUNDLES, start_from=prefix)
        names = (entry.path.rpartition("/")[2].partition(".")[0] for entry in listed)
        return [name for name in names if name.startswith(prefix) and _DIGEST.fullmatch(name)]

    def files(self, digest: str) -> pa.Table | None:
        """Return the files with a digest; None if they are not stored, or damaged."""
        if not _DIGEST.fullmatch(digest):
            return None
        content = self._read(f"{_FILES}/{digest}.parquet")
        if content is None:
            return None
        try:
            # `pq.read_table` leaves its buffers to threads of Arrow: one that frees Python's bytes
            # while the process ends aborts it.
            return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        except (OSError, pa.ArrowException):
            return None

    def _put_lists(self, lists: Iterable[FileList]) -> None:
        with ThreadPoolExecutor(_PUTS_AT_ONCE) as pool:
            for _ in pool.map(self._put_list, lists):
                pass

    def _put_list(self, files: FileList) -> None:
        path = f"{_FILES}/{files.digest}.parquet"
        table = files.read()
        if table is None or self.files(files.digest) is not None:
            return
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self._put(path, sink.getvalue().to_pybytes(), PutMode.OVERWRITE)

    def _put(self, path: str, content: bytes, mode: PutMode) -> None:
        try:
            self._store.put(path, content, mode=mode)
        except ObjectExistsError:  # another process stored the same content
            return

    def _read(self, path: str) -> bytes | None:
        try:
            return self._store.read(path)
        except ObjectNotFoundError:
            return None
