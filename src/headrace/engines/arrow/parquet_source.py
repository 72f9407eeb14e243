"""Opening Parquet files of a store, remembering their footers, counting what is read."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.engines.arrow.add_schema import check_adds
from headrace.engines.arrow.footer import Footer
from headrace.errors import CorruptCheckpointError, StorageError
from headrace.metrics.meter import Meter
from headrace.protocol.log_file import LogFile
from headrace.storage.cache import BoundedCache
from headrace.storage.failure import storage_error
from headrace.storage.store import Store
from headrace.storage.unchanged import check_unchanged

_BUFFER_BYTES = 1 << 18
_LOCAL_BUFFER_BYTES = 1 << 16
"""Reads of a local file cost little; what stays in the processor's cache is quicker, and less."""
_FOOTERS_IN_USE = 16
_DECODED_SIZE = 4
"""How much larger a footer is in memory than in its file, about."""
_UNDECODABLE = (pa.ArrowException, OSError, ValueError)


class FooterCache:
    """The footers of the files that were opened last; shared by the runs of one table."""

    def __init__(self, limit_bytes: int) -> None:
        # Row groups are read by their footer, so those that are in use stay in any case.
        self._footers: BoundedCache[tuple[str, int, int], Footer] = BoundedCache(
            limit_bytes, at_least=_FOOTERS_IN_USE
        )

    def get(self, file: LogFile) -> Footer | None:
        """The footer of a file, if it is still the same file."""
        return self._footers.get(_identity(file))

    def put(self, file: LogFile, footer: Footer) -> None:
        """Remember a footer, and forget the least used ones beyond the bound."""
        size_bytes = footer.metadata.serialized_size * _DECODED_SIZE
        self._footers.put(_identity(file), footer, size_bytes=size_bytes)

    def clear(self) -> None:
        """Forget everything."""
        self._footers.clear()


class ParquetSource:
    """Parquet files of one store, for one run."""

    def __init__(self, store: Store, *, footers: FooterCache, meter: Meter) -> None:
        self._store = store
        self._footers = footers
        self._meter = meter
        self._met: set[tuple[str, int, int]] = set()

    def is_local(self, file: LogFile) -> bool:
        """Whether a file is read from a disk of this machine."""
        return self._store.local_path(file.path) is not None

    def footer(self, file: LogFile) -> Footer:
        """What the file's footer tells."""
        footer = self._known(file)
        if footer is None:
            with self.open(file) as parquet:
                footer = Footer(parquet.metadata)
        return footer

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Take a footer that another process has read, and counted."""
        self._met.add(_identity(file))
        self._footers.put(file, footer)

    @contextmanager
    def open(self, file: LogFile, *, codes: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        """Open a file; the columns named in `codes` are read as dictionary codes.

        Raises:
            ObjectNotFoundError: it is not there.
            ObjectChangedError: it is not the one that was listed.
            CorruptCheckpointError: it is not a Parquet file, its footer is damaged, or its adds
                are not what the protocol says.
        """
        check_unchanged(self._store, file)
        local = self._store.local_path(file.path)
        with (
            nullcontext(local) if local else self._store.open(file.path) as source,
            self._parquet(file, source, codes) as parquet,
        ):
            yield parquet

    @contextmanager
    def open_bytes(
        self, file: LogFile, *, codes: Sequence[str] = ()
    ) -> Iterator[tuple[BinaryIO, Callable[[], pq.ParquetFile]]]:
        """Its bytes, and the same when it is asked for, which takes half a millisecond.

        Both seek before they read, so that one may be the other.
        """
        check_unchanged(self._store, file)
        local = self._store.local_path(file.path)
        with ExitStack() as opened:
            raw = opened.enter_context(
                _open_local(local, file) if local else self._store.open(file.path)
            )
            yield raw, cache(lambda: opened.enter_context(self._parquet(file, local or raw, codes)))

    @contextmanager
    def _parquet(
        self, file: LogFile, source: str | BinaryIO, codes: Sequence[str]
    ) -> Iterator[pq.ParquetFile]:
        known = self._known(file)
        is_local = isinstance(source, str)
        try:
            # Small buffers keep memory flat, whatever the size of a row group.
            parquet = pq.ParquetFile(
                source,
                metadata=None if known is None else known.metadata,
                read_dictionary=None if known is None else known.codable(codes) or None,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",  # nanoseconds end in the year 2262
                buffer_size=_LOCAL_BUFFER_BYTES if is_local else _BUFFER_BYTES,
                page_checksum_verification=True,
            )
        except StorageError:
            raise
        except _UNDECODABLE as error:
            raise _failure(file, error) from error
        with parquet:
            if known is None:
                self._footers.put(file, _checked(Footer(parquet.metadata), file))
                self.count_bytes(file, parquet.metadata.serialized_size)
                self._meet(file)
            yield parquet

    @contextmanager
    def open_raw(self, file: LogFile) -> Iterator[BinaryIO]:
        """Open a file as bytes."""
        check_unchanged(self._store, file)
        with self._store.open(file.path) as raw:
            yield raw

    def count_bytes(self, file: LogFile, size_bytes: int) -> None:
        """Count a read. Local files are read behind the store's back; others it counts itself."""
        if self.is_local(file):
            self._meter.count(bytes_read=size_bytes, requests=1)

    def count_read(self, file: LogFile, group: int, leaves: Sequence[str]) -> None:
        """Count the reading of some columns of a row group, unless the store does."""
        self.count_bytes(file, self.footer(file).compressed_bytes(group, leaves))

    def batches(
        self,
        file: LogFile,
        parquet: pq.ParquetFile,
        group: int,
        *,
        columns: tuple[str, ...],
        batch_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of a row group, piece by piece; none where the file has none of them.

        Raises:
            CorruptCheckpointError: they cannot be decoded, or have another number of rows than
                the footer says: Arrow compares columns, but does not count the rows of one.
        """
        footer = self._footers.get(file) or Footer(parquet.metadata)
        leaves = footer.leaves(columns)
        if not leaves:
            return
        self.count_read(file, group, leaves)
        found = parquet.iter_batches(
            batch_size=batch_rows, row_groups=[group], columns=leaves, use_threads=False
        )
        missing = footer.rows(group)
        while True:
            try:
                batch = next(found, None)
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
        """A footer that is remembered; one of an earlier run is counted when it is first used."""
        footer = self._footers.get(file)
        if footer is not None:
            self._meet(file, footer_cache_hits=1)
        return footer

    def _meet(self, file: LogFile, *, footer_cache_hits: int = 0) -> None:
        """Count a file when its footer is first there: it is opened again for each thread."""
        identity = _identity(file)
        if identity not in self._met:
            self._met.add(identity)
            self._meter.count(files_read=1, footer_cache_hits=footer_cache_hits)


def _failure(file: LogFile, error: Exception) -> StorageError | CorruptCheckpointError:
    """Arrow's errors of decoding are of the system's type too, but without its number."""
    if isinstance(error, OSError) and error.errno is not None:
        return storage_error(file.path, error)
    return CorruptCheckpointError(path=file.path, reason=str(error))


def _open_local(path: str, file: LogFile) -> BinaryIO:
    try:
        return cast("BinaryIO", Path(path).open("rb", buffering=0))
    except OSError as error:
        raise storage_error(file.path, error) from error


def _checked(footer: Footer, file: LogFile) -> Footer:
    try:
        check_adds(footer)
    except ValueError as error:
        raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
    return footer


def _identity(file: LogFile) -> tuple[str, int, int]:
    return (file.path, file.size_bytes, file.modified_ms)
