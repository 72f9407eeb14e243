"""A store for local folders that uses only the standard library."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from headrace.errors import ObjectExistsError
from headrace.storage.byte_range import ByteRange, Contents, coalesce, split
from headrace.storage.failure import storage_error, storage_errors
from headrace.storage.regular_file import open_regular
from headrace.storage.store import ObjectMeta, PutMode, RequestCost, Tail, checked_range


class LocalStore:
    """A folder of this machine."""

    request_cost = RequestCost.LOCAL

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"

    def list(self, directory: str, *, start_from: str = "") -> Iterator[ObjectMeta]:
        """List the files of a folder by name; names are filtered before any file is stat'ed."""
        folder = self._full(directory)
        try:
            names = os.listdir(folder)  # noqa: PTH208  (Path.iterdir makes an object per name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise storage_error(directory, error) from error
        for name in sorted(name for name in names if name >= start_from):
            try:
                status = os.stat(f"{folder}/{name}")  # noqa: PTH116
            except FileNotFoundError:
                continue  # deleted since it was listed
            except OSError as error:
                raise storage_error(f"{directory}/{name}", error) from error
            if not stat.S_ISDIR(status.st_mode):
                yield _meta(f"{directory}/{name}", status)

    def head(self, path: str) -> ObjectMeta:
        """Return the size and modification time of a file."""
        with storage_errors(path):
            return _meta(path, os.stat(self._full(path)))  # noqa: PTH116

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with storage_errors(path), open_regular(self._full(path)) as file:
            return file.read()

    def read_chunks(self, path: str, *, chunk_bytes: int) -> Iterator[bytes]:
        """Read a file in chunks."""
        with storage_errors(path), open_regular(self._full(path)) as file:
            while chunk := file.read(chunk_bytes):
                yield chunk

    def read_tail(
        self,
        path: str,
        *,
        size_bytes_wanted: int,
        object_size: int | None = None,  # noqa: ARG002  (seek returns the size)
    ) -> Tail:
        """Read the end of a file."""
        with storage_errors(path), open_regular(self._full(path)) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - size_bytes_wanted, 0))
            return Tail(file.read(), size)

    def read_ranges(
        self,
        path: str,
        ranges: Sequence[ByteRange],
        *,
        etag: str | None = None,  # noqa: ARG002  (files have none)
    ) -> Contents:
        """Read several ranges of a file."""
        requests = coalesce(ranges, self.request_cost.coalescing)
        with storage_errors(path), open_regular(self._full(path)) as file:
            contents = [
                checked_range(path, request, os.pread(file.fileno(), request.length, request.start))
                for request in requests
            ]
        return split(ranges, requests, contents)

    def open(self, path: str, *, size_bytes: int | None = None) -> BinaryIO:  # noqa: ARG002
        """Open a file."""
        with storage_errors(path):
            return BufferedReader(open_regular(self._full(path)))

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        """Write a whole file, unnamed or under a temporary name, then move it into place."""
        target = Path(self._full(path))
        with storage_errors(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                if mode is PutMode.OVERWRITE:
                    _checksum_of(target).unlink(missing_ok=True)
                    _replace(target, content)
                elif not _create_unnamed(target, content):
                    _create(target, content)
            except FileExistsError as error:
                raise ObjectExistsError(path=path) from error
            _sync(target.parent)

    def persist(self, paths: Iterable[str]) -> None:
        """Flush files, and the folders that contain them, to disk."""
        folders: set[Path] = set()
        for path in paths:
            file = Path(self._full(path))
            with storage_errors(path):
                _sync(file)
            folders.update(self._folders_of(file))
        for folder in folders:
            with storage_errors(str(folder)):
                _sync(folder)

    def list_tree(self, directory: str) -> Iterator[ObjectMeta]:
        """List the files of a folder and of all folders below it, by path."""
        for parent, folders, names in os.walk(self._full(directory), onerror=_raise_failure):
            folders.sort()
            below = os.path.relpath(parent, self.root)
            prefix = "" if below == "." else f"{below}/"
            for name in sorted(names):
                path = f"{prefix}{name}"
                try:
                    status = os.stat(f"{parent}/{name}")  # noqa: PTH116
                except FileNotFoundError:
                    continue  # deleted since it was listed
                except OSError as error:
                    raise storage_error(path, error) from error
                yield _meta(path, status)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files but not their folders."""
        for path in paths:
            target = Path(self._full(path))
            with storage_errors(path):
                target.unlink(missing_ok=True)
                _checksum_of(target).unlink(missing_ok=True)

    def prune(self, directory: str) -> None:
        """Remove the empty folders below a folder, and the folder itself if it is then empty."""
        for parent, _, _ in os.walk(self._full(directory), topdown=False):
            with suppress(OSError):  # not empty, or already removed
                Path(parent).rmdir()

    def _folders_of(self, file: Path) -> Iterator[Path]:
        """Yield the folders from the file's own up to the root."""
        for folder in file.parents:
            yield folder
            if str(folder) == self.root:
                return

    def local_path(self, path: str) -> str | None:
        """Return the path of the file."""
        return self._full(path)

    def _full(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}"


def _checksum_of(target: Path) -> Path:
    """Return where Hadoop keeps the checksum of a local file; it refuses a file that differs."""
    return target.with_name(f".{target.name}.crc")


def _meta(path: str, status: os.stat_result) -> ObjectMeta:
    modified_ms = status.st_mtime_ns // 1_000_000
    return ObjectMeta(path=path, size_bytes=status.st_size, modified_ms=modified_ms)


def _raise_failure(error: OSError) -> None:
    """Raise for a folder that cannot be listed; one that is gone has no files."""
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise storage_error(str(error.filename), error) from error


def _sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create_unnamed(target: Path, content: bytes) -> bool:
    """Create a file that has no name until it is complete; False if the system cannot do this.

    A process that is killed midway leaves no file.

    Raises:
        FileExistsError: the file already exists.
    """
    try:
        descriptor = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o644)
    except (AttributeError, OSError):
        return False
    with open(descriptor, "wb") as file:  # noqa: PTH123  (a descriptor, not a path)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
        try:
            os.link(f"/proc/self/fd/{descriptor}", target, follow_symlinks=True)
        except FileExistsError:
            raise
        except OSError:  # no /proc, or the file system cannot link unnamed files
            return False
    return True


def _create(target: Path, content: bytes) -> None:
    """Create a file under a temporary name and link it into place."""
    temporary = _write_temporary(target, content)
    try:
        os.link(temporary, target)
    finally:
        temporary.unlink()


def _replace(target: Path, content: bytes) -> None:
    _write_temporary(target, content).replace(target)


def _write_temporary(target: Path, content: bytes) -> Path:
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
