"""The local disk, with nothing but the standard library: no client to pay for."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headrace.errors import ObjectNotFoundError, StoreFailedError
from headrace.storage.store import ObjectMeta


class LocalStore:
    """A folder of this machine."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"

    def list(self, directory: str, *, start_from: str = "") -> list[ObjectMeta]:
        """The files of a folder, by name; names are filtered before anything is looked at."""
        folder = self._full(directory)
        try:
            names = os.listdir(folder)  # noqa: PTH208  (Path.iterdir makes an object per name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreFailedError(path=directory, reason=str(error)) from error
        found: list[ObjectMeta] = []
        for name in sorted(name for name in names if name >= start_from):
            try:
                status = os.stat(f"{folder}/{name}")  # noqa: PTH116
            except FileNotFoundError:
                continue  # deleted since it was listed: as if it had never been
            if not stat.S_ISDIR(status.st_mode):
                found.append(
                    ObjectMeta(
                        path=f"{directory}/{name}",
                        size_bytes=status.st_size,
                        modified_ms=status.st_mtime_ns // 1_000_000,
                    )
                )
        return found

    def read(self, path: str) -> bytes:
        """A file, whole."""
        with _as_headrace_errors(path):
            return Path(self._full(path)).read_bytes()

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """A file in pieces."""
        with _as_headrace_errors(path), Path(self._full(path)).open("rb", buffering=0) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def open(self, path: str) -> BinaryIO:
        """A file to seek in."""
        with _as_headrace_errors(path):
            return Path(self._full(path)).open("rb")

    def local_path(self, path: str) -> str | None:
        """The file itself."""
        return self._full(path)

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"


@contextmanager
def _as_headrace_errors(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectNotFoundError(path=path) from error
    except OSError as error:
        raise StoreFailedError(path=path, reason=str(error)) from error
