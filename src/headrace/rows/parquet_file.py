"""Opening data files: what goes wrong is told by typed errors that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CorruptDataFileError, DataFileNotFoundError, ObjectNotFoundError
from headrace.metrics.meter import Meter
from headrace.storage.failure import storage_error
from headrace.storage.store import Store

_BUFFER_BYTES = 1 << 20


@contextmanager
def data_file_errors(path: str) -> Iterator[None]:
    """Turn what Arrow says about a file into typed errors.

    Raises:
        DataFileNotFoundError: it is not there.
        CorruptDataFileError: it cannot be decoded, or a value does not fit the table's type.
        StorageError: the store failed.
    """
    try:
        yield
    except (FileNotFoundError, ObjectNotFoundError) as error:
        raise DataFileNotFoundError(path=path) from error
    except OSError as error:
        # Arrow's own errors of decoding are of this type too, but for the number of the system's.
        if error.errno is not None:
            raise storage_error(path, error) from error
        raise CorruptDataFileError(path=path, reason=str(error)) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorruptDataFileError(path=path, reason=str(error)) from error


@contextmanager
def open_parquet(store: Store, path: str, *, meter: Meter) -> Iterator[pq.ParquetFile]:
    """Open a data file; `data_file_errors` belongs around its use."""
    local = store.local_path(path)
    with nullcontext(local) if local else store.open(path) as source:
        # Small buffers keep memory flat, whatever the size of a row group; where a read is a
        # request, what lies together is fetched together.
        parquet = pq.ParquetFile(
            source,
            pre_buffer=local is None,
            buffer_size=_BUFFER_BYTES if local else 0,
            coerce_int96_timestamp_unit="us",  # what nanoseconds cannot hold is left whole
            page_checksum_verification=True,
        )
        with parquet:
            meter.count(files_read=1)
            if local:
                # Arrow reads local files behind the store's back.
                meter.count(requests=1, bytes_read=parquet.metadata.serialized_size)
            yield parquet
