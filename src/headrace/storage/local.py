"""The local disk, with nothing but the standard library: no client to pay for."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from headrace.storage.failure import storage_error, storage_errors
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
            raise storage_error(directory, error) from error
        found: list[ObjectMeta] = []
        for name in sorted(name for name in names if name >= start_from):
            try:
                status = os.stat(f"{folder}/{name}")  # noqa: PTH116
            except FileNotFoundError:
                continue  # deleted since it was listed: as if it had never been
            except OSError as error:
                raise storage_error(f"{directory}/{name}", error) from error
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
        with storage_errors(path), Path(self._full(path)).open("rb", buffering=0) as file:
            return file.read()

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """A file in pieces."""
        with storage_errors(path), Path(self._full(path)).open("rb", buffering=0) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def open(self, path: str) -> BinaryIO:
        """A file to seek in."""
        with storage_errors(path):
            return Path(self._full(path)).open("rb")

    def local_path(self, path: str) -> str | None:
        """The file itself."""
        return self._full(path)

    def _full(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}"
