"""A virtual file system in which each data file is an Arrow IPC file of its rows.

A dataset opens such a file like any other. Opening it reads the rows and holds them in memory
until it is closed.
"""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import fs

from headrace.rows.data_file import DataFile


class RowFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """The files that the row reader serves, named by number; read-only."""

    def __init__(
        self, schema: pa.Schema, read: Callable[[DataFile], Iterator[pa.RecordBatch]]
    ) -> None:
        self._schema = schema
        self._read = read
        self._files: dict[str, DataFile] = {}

    def add(self, file: DataFile) -> str:
        """Add a file, and return its path in this file system."""
        path = f"{len(self._files)}.arrow"
        self._files[path] = file
        return path

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Read the rows of a file."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self._schema) as writer:
            for batch in self._read(self._files[path]):
                writer.write_batch(batch)
        return pa.BufferReader(sink.getvalue())

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Read the rows of a file."""
        return self.open_input_file(path)

    def get_type_name(self) -> str:
        """Return the name of this type of file system."""
        return "headrace-rows"

    def normalize_path(self, path: str) -> str:
        """Return the path unchanged: each path has one form."""
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        """Return what is known without reading: whether each file exists."""
        kinds = (
            fs.FileType.File if path in self._files else fs.FileType.NotFound for path in paths
        )
        return [fs.FileInfo(path, kind) for path, kind in zip(paths, kinds, strict=True)]

    def get_file_info_selector(self, selector: Any) -> list[fs.FileInfo]:  # noqa: ARG002
        """Return all files."""
        return self.get_file_info(list(self._files))

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
        raise NotImplementedError("the rows of a snapshot can only be read")

    copy_file = create_dir = delete_dir = delete_dir_contents = delete_file = _refuse
    delete_root_dir_contents = move = open_append_stream = open_output_stream = _refuse
