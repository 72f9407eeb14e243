"""Opens data files, and turns failures into typed errors that name the file.

The source of a file enters; an open Parquet reader leaves.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.parquet.soundness import (
    EncryptedColumnError,
    UnsoundFooterError,
    check_footer_of,
)
from headrace.errors import (
    CorruptDataFileError,
    DataFileNotFoundError,
    HeadraceError,
    ObjectNotFoundError,
    UnsupportedFileError,
)
from headrace.metrics.meter import Meter
from headrace.rows.file_bytes import FileBytes, FileSource, Read
from headrace.rows.wide_delta import WIDE_DIFFERENCES, has_wide_differences
from headrace.storage.failure import storage_error

_BUFFER_BYTES = 1 << 20
_UNSUPPORTED = re.compile(
    r"not (?:yet |currently )?(?:supported|implemented)|unsupported|encrypted|decrypt"
    r"|too deeply nested",
    re.IGNORECASE,
)
"""Arrow's messages for healthy files that it cannot read; it has no error type for all of them."""


class OpenDataFile:
    """An open data file, which can be reopened with other options."""

    def __init__(self, source: FileSource, opened: ExitStack, *, size_bytes: int) -> None:
        self.file = source
        self._source: Any = source.file
        is_native = isinstance(source.file, pa.NativeFile)
        is_buffered = not is_native or not 0 < size_bytes <= _BUFFER_BYTES
        self._buffer_bytes = _BUFFER_BYTES if is_buffered else 0
        self._opened = opened
        self.parquet = self._open(metadata=None, codes=[])
        check_chunks(self._source)

    def has_wide_differences(self, leaf_column: int) -> bool:
        """Whether a column has delta encodings that Arrow refuses as too wide."""
        return has_wide_differences(self._source, self.parquet, leaf_column)

    @property
    def is_local_file(self) -> bool:
        """Whether it is a local file that is read on demand."""
        return self.file.is_local and not self.file.is_in_memory

    def read_into(self, offset: int, memory: memoryview) -> None:
        """Fill memory with the bytes of a local file, starting at an offset.

        Raises:
            pa.ArrowInvalid: the file is too short.
        """
        self._source.seek(offset)
        if self._source.readinto(memory) != len(memory):
            raise pa.ArrowInvalid("the file is shorter than its footer says")

    def with_codes(self, paths: list[str]) -> pq.ParquetFile:
        """Reopen the file to read some columns as dictionary codes."""
        return self._open(metadata=self.parquet.metadata, codes=paths)

    def _open(self, *, metadata: pq.FileMetaData | None, codes: list[str]) -> pq.ParquetFile:
        # Small buffers keep memory independent of the size of a row group.
        parquet = pq.ParquetFile(
            self._source,
            metadata=metadata,
            read_dictionary=codes or None,
            pre_buffer=False,
            buffer_size=self._buffer_bytes,
            coerce_int96_timestamp_unit="us",  # nanoseconds would overflow for old and far dates
            page_checksum_verification=True,
        )
        return self._opened.enter_context(parquet)


def check_chunks(file: Any) -> None:
    """Check that Arrow can decode the metadata of a file's column chunks; see `check_footer_of`.

    Raises:
        pa.ArrowNotImplementedError: a column is encrypted.
        pa.ArrowInvalid: the footer is damaged.
    """
    try:
        check_footer_of(file)
    except EncryptedColumnError as error:
        raise pa.ArrowNotImplementedError(str(error)) from error
    except UnsoundFooterError as error:
        raise pa.ArrowInvalid(str(error)) from error


@contextmanager
def data_file_errors(path: str) -> Iterator["FileWitness"]:
    """Turn Arrow's errors for a file into typed errors.

    Raises:
        DataFileNotFoundError: the file does not exist.
        UnsupportedFileError: the file is healthy, but Arrow does not support it.
        CorruptDataFileError: it cannot be decoded, or a value does not fit the table's type.
        StorageError: the store failed.
    """
    witness = FileWitness()
    try:
        yield witness
    except (FileNotFoundError, ObjectNotFoundError) as error:
        raise DataFileNotFoundError(path=path) from error
    except OSError as error:
        # Arrow raises this type for decoding errors, too; only those of the system have a number.
        if error.errno is not None:
            raise storage_error(path, error) from error
        raise witness.typed_error(path, error) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise witness.typed_error(path, error) from error


class FileWitness:
    """Finds out why a file could not be read, after it was closed."""

    def __init__(self) -> None:
        self.writer: str | None = None
        self.reopen: Callable[[], AbstractContextManager[OpenDataFile]] | None = None

    def typed_error(self, path: str, error: Exception) -> HeadraceError:
        """Return the error for a failure: damage, or something unsupported."""
        reason, column = str(error).rstrip("."), None
        if _is_unsupported(error):
            column = self._first_unsupported_column()
        elif (column := self._first_wide_column()) is not None:
            reason = WIDE_DIFFERENCES
        else:
            return CorruptDataFileError(path=path, reason=str(error))
        return UnsupportedFileError(path=path, reason=reason, column=column, writer=self.writer)

    def _first_unsupported_column(self) -> str | None:
        """Return the first column that Arrow cannot read on its own."""
        for column in self._unread_columns():
            if _is_unsupported(column.error):
                return column.path
        return None

    def _first_wide_column(self) -> str | None:
        """Return the first failing column, if all of them fail because of wide differences."""
        try:
            columns = list(self._unread_columns())
        except (pa.ArrowException, OSError, HeadraceError):
            return None  # the file cannot even be opened
        are_wide = bool(columns) and all(column.is_widely_packed for column in columns)
        return columns[0].path if are_wide else None

    def _unread_columns(self) -> Iterator["_UnreadColumn"]:
        """Yield the leaf columns that Arrow cannot read, tried one by one."""
        if self.reopen is None:
            return
        with self.reopen() as opened:
            parquet = opened.parquet
            for leaf_column in range(parquet.metadata.num_columns):
                error = _first_error(parquet, leaf_column)
                if error is not None:
                    is_wide = opened.has_wide_differences(leaf_column)
                    path = str(parquet.schema.column(leaf_column).path)
                    yield _UnreadColumn(path, error, is_widely_packed=is_wide)


class _UnreadColumn(NamedTuple):
    path: str
    error: Exception
    is_widely_packed: bool


def _first_error(parquet: pq.ParquetFile, leaf_column: int) -> Exception | None:
    for group in range(parquet.metadata.num_row_groups):
        try:
            parquet.reader.read_row_group(group, column_indices=[leaf_column])
        except (pa.ArrowException, OSError) as error:
            return error
    return None


def _is_unsupported(error: Exception) -> bool:
    return isinstance(error, pa.ArrowNotImplementedError) or bool(_UNSUPPORTED.search(str(error)))


@contextmanager
def open_parquet(
    files: FileBytes, path: str, *, size_bytes: int, meter: Meter, read: Read
) -> Iterator[OpenDataFile]:
    """Open a data file; use it within `data_file_errors`."""
    with ExitStack() as opened:
        source = files.open(path, opened, size_bytes=size_bytes, read=read)
        parquet = OpenDataFile(source, opened, size_bytes=size_bytes)
        if source.is_local:
            # Arrow reads local files directly, so the store does not count them.
            metadata = parquet.parquet.metadata
            read_bytes = source.file.size() if source.is_in_memory else metadata.serialized_size
            meter.count(files_read=1, requests=1, bytes_read=read_bytes)
        else:
            meter.count(files_read=1)
        yield parquet
