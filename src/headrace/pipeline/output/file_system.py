"""Presents a store as an Arrow file system, through which Arrow reads and writes data files.

A folder enters; a file system leaves whose paths are relative to that folder. Arrow opens local
folders by itself.
"""

from io import RawIOBase
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSystemHandler, FileType, PyFileSystem

from headrace.errors import ObjectNotFoundError
from headrace.pipeline.place import Place
from headrace.storage.store import PutMode, WritableStore


def arrow_file_system(folder: Place) -> PyFileSystem | None:
    """Return the file system of a folder; None for a local folder, which Arrow opens by itself.

    Paths are relative to the folder. A file is uploaded when it is closed, and is durable then.
    """
    return None if folder.is_local else PyFileSystem(StoreFileSystem(folder.open()))


class StoreFileSystem(FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types for it
    """The operations of an Arrow file system, over the objects of a store."""

    def __init__(self, store: WritableStore) -> None:
        """Take the store; paths are below its root."""
        self._store = store

    def get_type_name(self) -> str:
        """Return the name of this kind of file system."""
        return "headrace"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreFileSystem) and self._store.root == other._store.root

    def __hash__(self) -> int:
        return hash(self._store.root)

    def normalize_path(self, path: str) -> str:
        """Return the path unchanged: paths are already normal."""
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        """Return the size and kind of each object."""
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> FileInfo:
        try:
            metadata = self._store.head(path)
        except ObjectNotFoundError:
            return FileInfo(path, FileType.NotFound)
        return FileInfo(path, FileType.File, size=metadata.size_bytes)

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open an object for random access."""
        return pa.PythonFile(self._store.open(path), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open an object for sequential reading."""
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """Open an object that is created when the stream is closed."""
        return pa.PythonFile(_Upload(self._store, path), mode="w")

    def create_dir(self, path: str, recursive: bool) -> None:  # noqa: FBT001
        """Do nothing: there are no directories."""

    def get_file_info_selector(self, selector: Any) -> list[FileInfo]:
        """Fail: callers list files themselves."""
        raise NotImplementedError(selector.base_dir)

    def delete_dir(self, path: str) -> None:
        """Fail: Arrow must not delete files."""
        raise NotImplementedError(path)

    delete_dir_contents = delete_dir
    delete_file = delete_dir

    def delete_root_dir_contents(self) -> None:
        """Fail: Arrow must not delete files."""
        raise NotImplementedError

    def move(self, src: str, dest: str) -> None:
        """Fail: a store cannot move objects."""
        raise NotImplementedError(f"{src} to {dest}")

    copy_file = move

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        """Fail: a store cannot append to objects."""
        raise NotImplementedError(path)


class _Upload(RawIOBase):
    """Buffers written bytes in a temporary file, and creates the object when it is closed."""

    def __init__(self, store: WritableStore, path: str) -> None:
        super().__init__()
        self._store, self._path = store, path
        self._file = TemporaryFile()  # noqa: SIM115  (closed in `close`)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Buffer bytes, and return their number."""
        return self._file.write(data)

    def close(self) -> None:
        """Create the object.

        Raises:
            StorageError: the store failed.
        """
        if self.closed:
            return
        super().close()
        with self._file as file:
            file.flush()
            if file.tell():
                content: Any = mmap(file.fileno(), 0, access=ACCESS_READ)
                self._store.put(self._path, memoryview(content), mode=PutMode.OVERWRITE)  # type: ignore[arg-type]
