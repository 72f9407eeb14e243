"""A store that tries again what may succeed the next time."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from headrace.errors import StorageError, StoreFailedError
from headrace.storage.ranged import RangedFile, as_binary
from headrace.storage.retry import Retrier
from headrace.storage.store import ObjectMeta, Store, release_chunks


class RetryingStore:
    """Repeats what failed in passing: a `StoreFailedError` that is transient, and no other.

    What fails in the middle goes on from the byte where it stood, so nothing is read twice and
    nothing is left out. Objects of a log never change; one that has become shorter in between
    is an error, not a shorter answer.

    `local_path` is the inner store's: what is opened by that path is not tried again.
    """

    def __init__(self, inner: Store, *, retrier: Retrier | None = None) -> None:
        self._inner = inner
        self._retrier = retrier or Retrier()

    @property
    def root(self) -> str:
        """The address of the root."""
        return self._inner.root

    def list(self, directory: str, *, start_from: str = "") -> list[ObjectMeta]:
        """The objects of one directory; a listing that breaks off starts anew."""
        return self._retrier.run(
            directory, lambda: self._inner.list(directory, start_from=start_from)
        )

    def read(self, path: str) -> bytes:
        """An object, whole."""
        return self._retrier.run(path, lambda: self._inner.read(path))

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """An object in pieces."""
        chunks = _Chunks(self._inner, path, chunk_bytes)
        try:
            while (chunk := self._retrier.run(path, chunks.next)) is not None:
                yield chunk
        finally:
            chunks.release()

    def open(self, path: str) -> BinaryIO:
        """An object to seek in and read ranges from."""
        return as_binary(_RetryingFile(self._inner, path, self._retrier))

    def local_path(self, path: str) -> str | None:
        """The inner store's."""
        return self._inner.local_path(path)


class _Chunks:
    """A stream of chunks that can be taken up where it broke off."""

    def __init__(self, store: Store, path: str, chunk_bytes: int) -> None:
        self._store = store
        self._path = path
        self._chunk_bytes = chunk_bytes
        self._position = 0
        self._source: Iterator[bytes] | None = None

    def next(self) -> bytes | None:
        """The next chunk; None: that was all."""
        if self._source is None:
            self._source = self._rest() if self._position else self._whole()
        try:
            chunk = next(self._source, None)
        except (OSError, StorageError):
            self.release()
            raise
        self._position += len(chunk or b"")
        return chunk

    def release(self) -> None:
        """Close what is open."""
        source, self._source = self._source, None
        if source is not None:
            release_chunks(source)

    def _whole(self) -> Iterator[bytes]:
        return self._store.read_chunks(self._path, chunk_bytes=self._chunk_bytes)

    def _rest(self) -> Iterator[bytes]:
        with _open_again(self._store, self._path, at_least_bytes=self._position) as file:
            file.seek(self._position)
            while chunk := file.read(self._chunk_bytes):
                yield chunk


class _RetryingFile(RangedFile):
    """An open file that is opened again when a read of it fails."""

    def __init__(self, store: Store, path: str, retrier: Retrier) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._retrier = retrier
        self._reached = 0
        self._file: BinaryIO | None = retrier.run(path, lambda: store.open(path))

    def read_at(self, position: int, size: int) -> bytes:
        """A range, as the store gives it in one piece."""
        return self._retrier.run(self._path, lambda: self._read_once(position, size))

    def size_bytes(self) -> int:
        """How many bytes there are."""
        return self._retrier.run(self._path, lambda: self._seek(0, os.SEEK_END))

    def release(self) -> None:
        """Close what is open; an error of something that is only read tells nothing."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError, StorageError):
                file.close()

    def _read_once(self, position: int, size: int) -> bytes:
        self._seek(position, os.SEEK_SET)
        assert self._file is not None
        try:
            data = self._file.read(size)
        except (OSError, StorageError):
            self.release()
            raise
        if data:  # nothing was reached by a read that began beyond the end
            self._reached = max(self._reached, position + len(data))
        return data

    def _seek(self, offset: int, whence: int) -> int:
        if self._file is None:
            self._file = _open_again(self._store, self._path, at_least_bytes=self._reached)
        try:
            return self._file.seek(offset, whence)
        except (OSError, StorageError):
            self.release()
            raise


def _open_again(store: Store, path: str, *, at_least_bytes: int) -> BinaryIO:
    file = store.open(path)
    try:
        size_bytes = file.seek(0, os.SEEK_END)
    except BaseException:
        file.close()
        raise
    if size_bytes < at_least_bytes:
        file.close()
        reason = "it has become shorter while it was read"
        raise StoreFailedError(path=path, reason=reason, transient=False)
    return file
