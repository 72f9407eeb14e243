"""Opens the Parquet files of a log, caches their footers, and counts reads.

Only this module of the engine knows whether a file is local. Arrow opens a local file by its
path. For a remote file, the requested ranges are fetched together and read from memory.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.checkpoint.add_schema import check_adds
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.parquet.soundness import check_footer_of, with_footer
from headrace.engines.computed import computed
from headrace.engines.fetched_file import FetchedFile
from headrace.engines.log_bytes import LogBytes
from headrace.engines.window import Windows
from headrace.errors import CorruptCheckpointError, StorageError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.storage.byte_range import ByteRange
from headrace.storage.cache import BoundedCache
from headrace.storage.failure import storage_error, storage_errors
from headrace.storage.local_file import find_local_file
from headrace.storage.ranged import as_binary
from headrace.storage.unchanged import check_unchanged

_BUFFER_BYTES = 1 << 18
_LOCAL_BUFFER_BYTES = 1 << 16
"""Local reads are cheap; a buffer that fits the processor's cache is faster and smaller."""
_FOOTERS_IN_USE = 16
_DECODED_SIZE = 4
"""Roughly how much larger a footer is in memory than in its file."""
_Identity: TypeAlias = tuple[str, int, int, str | None]
"""Path, size, modification time and ETag of a file."""
_UNDECODABLE = (pa.ArrowException, OSError, ValueError)


class FooterCache:
    """An LRU cache of footers, shared by all executions on one table."""

    def __init__(self, limit_bytes: int) -> None:
        # Reading row groups needs their footer, so footers in use are always kept.
        self._footers: BoundedCache[_Identity, Footer] = BoundedCache(
            limit_bytes, at_least=_FOOTERS_IN_USE
        )

    def get(self, file: LogFile) -> Footer | None:
        """Return the footer of a file, if it is cached and the file is unchanged."""
        return self._footers.get(_identity(file))

    def put(self, file: LogFile, footer: Footer) -> None:
        """Cache a footer, and drop the least recently used ones beyond the limit."""
        size_bytes = footer.metadata.serialized_size * _DECODED_SIZE
        self._footers.put(_identity(file), footer, size_bytes=size_bytes)

    def clear(self) -> None:
        """Drop all footers."""
        self._footers.clear()


class OpenParquet:
    """An open Parquet file: its bytes and Arrow's reader, each opened on first use."""

    def __init__(
        self,
        log: LogBytes,
        file: LogFile,
        *,
        known: Footer | None,
        codes: Sequence[str],
        opened: ExitStack,
    ) -> None:
        self.file = file
        self._log = log
        self._known = known
        self._codes = codes
        self._opened = opened
        self._local = find_local_file(log.store, file.path)

    @property
    def is_local(self) -> bool:
        """Whether it is read from a local disk, bypassing the store."""
        return self._local is not None

    @computed
    def raw(self) -> BinaryIO:
        """Its bytes, as a seekable file."""
        if self._local is None:
            return as_binary(self._fetched)
        with storage_errors(self.file.path):
            return self._opened.enter_context(self._local.open())

    @computed
    def _fetched(self) -> FetchedFile:
        """The same for a remote file, with its tail if the footer is still to be read."""
        known, file, log = self._known, self.file, self._log
        if known is not None:
            size_bytes = known.file_bytes or file.size_bytes
            read = partial(log.ranges, file, etag=known.etag)
            fetched = FetchedFile(read, size_bytes=size_bytes, etag=known.etag)
        else:
            tail = log.tail(file)
            log.tail_size.learn_from(tail)
            fetched = with_footer(FetchedFile.with_tail(log.store, file.path, tail))
        return self._opened.enter_context(fetched)

    @property
    def size_bytes(self) -> int:
        """The size of the file; for a remote file, as the store reports it."""
        return self.file.size_bytes if self.is_local else self._fetched.size_bytes()

    @property
    def etag(self) -> str | None:
        """The version of a remote file that is read; None if the store has no ETags."""
        return None if self.is_local else self._fetched.etag

    @computed
    def parquet(self) -> pq.ParquetFile:
        """Arrow's reader; creating it takes half a millisecond.

        Raises:
            ObjectNotFoundError: the file does not exist.
            CorruptCheckpointError: it is not a Parquet file, or its footer is damaged.
        """
        known = self._known
        try:
            # Small buffers keep memory constant, whatever the size of a row group.
            parquet = pq.ParquetFile(
                self.raw if self._local is None else self._local.path,
                metadata=None if known is None else known.metadata,
                read_dictionary=None if known is None else known.codable(self._codes) or None,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",  # nanoseconds end in the year 2262
                buffer_size=_LOCAL_BUFFER_BYTES if self.is_local else _BUFFER_BYTES,
                page_checksum_verification=True,
            )
        except StorageError:
            raise
        except _UNDECODABLE as error:
            raise _failure(self.file, error) from error
        return self._opened.enter_context(parquet)

    def fetch(self, ranges: Sequence[ByteRange]) -> None:
        """Request ranges of a remote file together; does nothing for a local file."""
        if not self.is_local:
            self._fetched.fetch(ranges)

    def drop(self) -> None:
        """Drop the requested ranges."""
        if not self.is_local:
            self._fetched.drop()

    @contextmanager
    def following(self, windows: Windows | None) -> Iterator[None]:
        """Read from windows that were fetched ahead, inside this context."""
        if windows is None:
            yield
            return
        self._fetched.follow(windows)
        try:
            yield
        finally:
            self._fetched.drop()


class ParquetSource:
    """The Parquet files of one log, for one execution. Its threads read and count a footer once."""

    def __init__(self, log: LogBytes, *, footers: FooterCache, meter: Meter) -> None:
        self._log = log
        self._footers = footers
        self._meter = meter
        self._counted_files: set[_Identity] = set()
        self._footer_locks: dict[_Identity, Lock] = {}
        """For each file, the lock of the thread that reads its footer."""

    @property
    def is_remote(self) -> bool:
        """Whether the store is remote, so that reads should be few and early."""
        return self._log.is_remote

    def expect(self, file: LogFile) -> None:
        """Start to read the footer of a remote file, unless it is cached."""
        if self._footers.get(file) is None:
            self._log.expect_tail(file)

    def has_footer(self, file: LogFile) -> bool:
        """Return whether the footer of a file is in memory, so that reading it takes no request."""
        return self._footers.get(file) is not None or self._log.has_tail(file)

    def expect_all_taken(self) -> None:
        """Use all of the read-ahead limit, since all announced reads will be taken."""
        self._log.ahead.expect_all_taken()

    @property
    def reads_waiting(self) -> int:
        """The number of reads that wait for room under the read-ahead limit."""
        return self._log.ahead.waiting

    def windows(self, file: LogFile, ranges: Sequence[ByteRange]) -> Windows:
        """Start to read ranges of a remote file, of the version that its footer belongs to."""
        read = partial(self._log.ranges, file, etag=self.footer(file).etag)
        return Windows(read, ranges, ahead=self._log.ahead)

    def footer(self, file: LogFile) -> Footer:
        """Return the decoded footer of a file. If another thread is reading it, wait for that."""
        footer = self._known(file)
        if footer is not None:
            return footer
        with self._footer_locks.setdefault(_identity(file), Lock()):
            footer = self._known(file)
            if footer is None:
                with self.open(file) as opened:
                    footer = self._read_footer(opened)
            return footer

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Cache a footer that another process has read and counted."""
        self._counted_files.add(_identity(file))
        self._footers.put(file, footer)

    @contextmanager
    def open(self, file: LogFile, *, codes: Sequence[str] = ()) -> Iterator[OpenParquet]:
        """Open a file; the columns named in `codes` are read as dictionary codes.

        Raises:
            ObjectNotFoundError: it does not exist.
            ObjectChangedError: it is not the file that was listed.
            CorruptCheckpointError: it is not a Parquet file, its footer is damaged, or its adds
                do not follow the protocol.
        """
        check_unchanged(self._log.store, file)
        with ExitStack() as opened:
            known = self._known(file)
            yield OpenParquet(self._log, file, known=known, codes=codes, opened=opened)

    def _read_footer(self, opened: OpenParquet) -> Footer:
        file = opened.file
        metadata = opened.parquet.metadata
        try:
            check_footer_of(opened.raw)
        except StorageError:
            raise
        except _UNDECODABLE as error:
            raise _failure(file, error) from error
        footer = _checked(Footer(metadata, opened.size_bytes, opened.etag), file)
        self.count_bytes(opened, metadata.serialized_size)
        self._count_file(file)
        self._footers.put(file, footer)  # counted before: another thread would count a cache hit
        return footer

    def count_bytes(self, opened: OpenParquet, size_bytes: int) -> None:
        """Count a read of a local file; the store counts the reads of remote files."""
        if opened.is_local:
            self._meter.count(bytes_read=size_bytes, requests=1)

    def count_read(self, opened: OpenParquet, group: int, leaf_columns: Sequence[str]) -> None:
        """Count the read of columns of a row group, unless the store does."""
        self.count_bytes(opened, self.footer(opened.file).compressed_bytes(group, leaf_columns))

    def batches(
        self, opened: OpenParquet, group: int, *, columns: tuple[str, ...], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of columns of a row group; nothing if the file has none of the columns.

        Raises:
            CorruptCheckpointError: they cannot be decoded, or have another number of rows than
                the footer says: Arrow compares columns, but does not count the rows of one.
        """
        file = opened.file
        footer = self._footers.get(file) or self._read_footer(opened)
        leaf_columns = footer.leaf_columns(columns)
        if not leaf_columns:
            return
        self.count_read(opened, group, leaf_columns)
        decoded = opened.parquet.iter_batches(
            batch_size=batch_rows, row_groups=[group], columns=leaf_columns, use_threads=False
        )
        missing = footer.rows(group)
        while True:
            try:
                batch = next(decoded, None)
            except StorageError:
                raise
            except _UNDECODABLE as error:
                raise _failure(file, error) from error
            if batch is None:
                break
            missing -= len(batch)
            yield batch
        if missing:
            reason = f"row group {group} lacks {missing} of {footer.rows(group)} rows"
            raise CorruptCheckpointError(path=file.path, reason=reason)

    def _known(self, file: LogFile) -> Footer | None:
        """Return a cached footer; one from an earlier execution is counted on first use."""
        footer = self._footers.get(file)
        if footer is not None:
            self._count_file(file, footer_cache_hits=1)
        return footer

    def _count_file(self, file: LogFile, *, footer_cache_hits: int = 0) -> None:
        """Count a file once, since each thread opens it again."""
        identity = _identity(file)
        if identity not in self._counted_files:
            self._counted_files.add(identity)
            self._meter.count(files_read=1, footer_cache_hits=footer_cache_hits)


def _failure(file: LogFile, error: Exception) -> StorageError | CorruptCheckpointError:
    """Return a storage or a decode error: Arrow's decode errors are OSErrors without an errno."""
    if isinstance(error, OSError) and error.errno is not None:
        return storage_error(file.path, error)
    return CorruptCheckpointError(path=file.path, reason=str(error))


def _checked(footer: Footer, file: LogFile) -> Footer:
    try:
        check_adds(footer)
    except ValueError as error:
        raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
    return footer


def _identity(file: LogFile) -> _Identity:
    return (file.path, file.size_bytes, file.modified_ms, file.etag)
