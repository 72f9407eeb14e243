"""The half of the engine that needs Arrow: Parquet, skipping, and probing by column."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import compress

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.plain import plain_batch
from headrace.engines.arrow.row_columns import RowColumns
from headrace.errors import CorruptCheckpointError, ObjectNotFoundError
from headrace.expr.node import BoundPredicate
from headrace.plan.batch import ActionBatch, AddBatch
from headrace.plan.seen import FrozenSeen
from headrace.protocol.key import key_of
from headrace.protocol.log_file import LogFile
from headrace.replay.match import SeenMatcher
from headrace.replay.skipping import keep_mask
from headrace.storage.store import Store

BATCH_ROWS = 16_384
_BUFFER_BYTES = 1 << 20
_FOOTERS_KEPT = 64

_WITNESS = {
    "add": "add.path",
    "protocol": "protocol.minReaderVersion",
    "metaData": "metaData.id",
    "txn": "txn.appId",
    "domainMetadata": "domainMetadata.domain",
    "sidecar": "sidecar.path",
}
"""The leaf of each action that is never null where the action is there."""


class ArrowColumnar:
    """Reads Parquet files of one store; remembers their footers and the set it probes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._footers: OrderedDict[tuple[str, int, int], pq.FileMetaData] = OrderedDict()
        self._matcher: tuple[FrozenSeen, SeenMatcher] | None = None

    def check_parquet(self, file: LogFile) -> None:
        """Open a file and read its footer."""
        with self._open(file):
            pass

    def scan_parquet(self, file: LogFile, *, columns: tuple[str, ...]) -> Iterator[ColumnBatch]:
        """The rows in which at least one of the wanted actions is there."""
        actions = tuple(dict.fromkeys(column.partition(".")[0] for column in columns))
        with self._open(file) as parquet:
            leaves = _leaves(parquet.metadata, columns)
            groups = [g for g in range(parquet.num_row_groups) if _holds(parquet, g, actions)]
            if not leaves or not groups:
                return
            # Small buffers and batches keep memory flat, whatever the size of a row group.
            batches = parquet.iter_batches(
                batch_size=BATCH_ROWS, row_groups=groups, columns=leaves, use_threads=False
            )
            while (batch := _next(batches, file)) is not None:
                there = [pc.is_valid(c) for c in batch.columns]
                mask = there[0]
                for other in there[1:]:
                    mask = pc.or_(mask, other)
                yield ColumnBatch(file, batch).filter(mask)

    def skip_files(self, batch: ActionBatch, predicate: BoundPredicate) -> ActionBatch:
        """The adds that may hold a matching row."""
        if isinstance(batch, ColumnBatch):
            return batch.filter(keep_mask(predicate, batch)) if len(batch) else batch
        adds = batch.actions("add")
        if not adds:
            return AddBatch(batch.source, [])
        keep = keep_mask(predicate, RowColumns(adds)).to_pylist()
        return AddBatch(batch.source, list(compress(adds, keep)))

    def drop_seen(self, batch: ActionBatch, seen: FrozenSeen) -> ActionBatch:
        """The adds whose key is not in the set."""
        if not isinstance(batch, ColumnBatch):
            adds = [add for add in batch.actions("add") if key_of(add) not in seen]
            return AddBatch(batch.source, adds)
        if not seen or not len(batch):
            return batch
        if self._matcher is None or self._matcher[0] is not seen:
            self._matcher = (seen, SeenMatcher(seen))
        keep = self._matcher[1].unseen(batch.field("path"), batch.field("deletionVector"))
        return batch.filter(keep)

    @contextmanager
    def _open(self, file: LogFile) -> Iterator[pq.ParquetFile]:
        identity = (file.path, file.size_bytes, file.modified_ms)
        local = self._store.local_path(file.path)
        with nullcontext(local) if local else self._store.open(file.path) as source:
            try:
                parquet = pq.ParquetFile(
                    source,
                    metadata=self._footers.get(identity),
                    pre_buffer=False,
                    buffer_size=_BUFFER_BYTES,
                )
            except FileNotFoundError as error:
                raise ObjectNotFoundError(path=file.path) from error
            except (pa.ArrowException, OSError, ValueError) as error:
                raise CorruptCheckpointError(path=file.path, reason=str(error)) from error
            with parquet:
                self._footers[identity] = parquet.metadata
                if len(self._footers) > _FOOTERS_KEPT:
                    self._footers.popitem(last=False)
                yield parquet


def _next(batches: Iterator[pa.RecordBatch], file: LogFile) -> pa.RecordBatch | None:
    try:
        batch = next(batches, None)
        return None if batch is None else plain_batch(batch)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptCheckpointError(path=file.path, reason=str(error)) from error


def _leaves(footer: pq.FileMetaData, columns: tuple[str, ...]) -> list[str]:
    """The leaf columns of the file that lie at or below the wanted ones."""
    paths = (footer.schema.column(i).path for i in range(footer.num_columns))
    wanted = tuple(f"{column}." for column in columns)
    return [path for path in paths if f"{path}.".startswith(wanted)]


def _holds(parquet: pq.ParquetFile, group: int, actions: tuple[str, ...]) -> bool:
    """Whether a row group can hold one of the actions, by the null counts of its footer."""
    footer = parquet.metadata
    row_group = footer.row_group(group)
    positions = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
    for action in actions:
        position = positions.get(_WITNESS[action])
        if position is None:
            continue
        statistics = row_group.column(position).statistics
        if statistics is None or not statistics.has_null_count:
            return True
        if statistics.null_count < row_group.num_rows:
            return True
    return False
