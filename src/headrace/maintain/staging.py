"""Stages manifests: entries enter, manifests that no state references yet leave.

Entries are sorted by partition in bounded memory and cut into manifests. A staged manifest has a
unique name, so nothing is ever overwritten. It can be discarded until a state references it.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.avro.manifest import ManifestWriter, WrittenManifest
from headrace.errors import InvalidArgumentError, ObjectExistsError
from headrace.log.state_name import manifest_path
from headrace.maintain.column_manifest import ColumnManifests
from headrace.maintain.column_sort import ColumnSort
from headrace.maintain.entry_columns import DuplicateCheck
from headrace.maintain.entry_progress import EntryProgress
from headrace.maintain.entry_sort import EntrySort
from headrace.maintain.entry_type import why_invalid
from headrace.maintain.home import Home, codec_of
from headrace.maintain.known_entry import ENTRY_DEFAULTS
from headrace.maintain.partition_code import PartitionCodes
from headrace.maintain.setting import StateSettings
from headrace.protocol import light
from headrace.protocol.key import FileKey
from headrace.protocol.schema import DataType
from headrace.protocol.state import Entry, ManifestInfo
from headrace.protocol.state_schema import Schema
from headrace.storage.store import PutMode, WritableStore

WHOLE_BYTES = 8 << 20
"""Larger manifests are uploaded in parts."""
_MAX_BYTES = (1 << 63) - 1
"""The largest number that a state can record."""


class StagedEntries(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests of new entries."""

    infos: tuple[ManifestInfo, ...] = ()
    keys: frozenset[FileKey] = frozenset()
    """The files, if they may replace or hide entries of a base; a first state has none."""
    count: int = 0
    total_bytes: int = 0


class Stage:
    """Writes the manifests of one commit, and can discard them."""

    def __init__(
        self,
        store: WritableStore,
        home: Home,
        *,
        settings: StateSettings,
        progress: EntryProgress | None = None,
    ) -> None:
        self.store = store
        self._home = home
        self._settings = settings
        self._progress = progress or EntryProgress()
        self.written: list[str] = []
        """The manifests that were written, relative to the root."""

    def put(self, manifest: WrittenManifest) -> ManifestInfo:
        """Store a manifest under a new name.

        Raises:
            StorageError: the store failed.
        """
        path = manifest_path(uuid4().hex)
        self.written.append(path)  # first: a put that fails may still have written it
        # If the object exists, the store repeated our own request: the name is unique.
        with suppress(ObjectExistsError):
            put_parts(self.store, f"{self._home.root}/{path}", manifest.parts)
        self._progress.wrote(manifest.info.num_entries)
        return msgspec.structs.replace(manifest.info, path=path)

    def put_entries(
        self,
        entries: Iterable[Mapping[str, Any]],
        *,
        types: Mapping[str, DataType],
        schema: Schema | None = None,
    ) -> StagedEntries:
        """Store entries, sorted by partition, in as many manifests as needed.

        Args:
            entries: The entries, by the names of their fields.
            types: The partition columns, in the order of the spec, with their types.
            schema: The schema of their manifests; that of the home by default.

        Raises:
            InvalidArgumentError: a file is given twice, or an entry is not valid.
            StorageError: the store failed.
        """
        schema = schema or self._home.entry_schema
        keys: set[FileKey] = set()
        infos: list[ManifestInfo] = []
        total = 0
        with EntrySort(types, schema=schema) as sort, _text_errors():
            for fields in entries:
                entry = complete_entry(fields, schema)
                key = self._home.key_of(entry)
                if key in keys:
                    reason = f"{entry['path']} is given twice"
                    raise InvalidArgumentError(argument="adds", reason=reason)
                keys.add(key)
                total += entry["size"]
                sort.add([entry])
                self._progress.read(1)
            check_total(total)
            infos += map(self.put, self._cut(sort.sorted(), schema, types))
        return StagedEntries(
            infos=tuple(infos), keys=frozenset(keys), count=len(keys), total_bytes=total
        )

    def put_columns(
        self, batches: Iterable[pa.RecordBatch], *, partitions: PartitionCodes
    ) -> StagedEntries:
        """Store the entries of a state without a base, given as columns; their keys are not held.

        Args:
            batches: Batches of `ENTRY_COLUMNS`, in any order.
            partitions: Numbers their partitions; complete once the batches are.

        Raises:
            InvalidArgumentError: a file is given twice, a path is empty, a size is negative, or
                the sizes add up to too much.
            SpillFailedError: the entries could not be sorted on disk.
            StorageError: the store failed.
        """
        duplicates, total = DuplicateCheck(), 0
        manifests = ColumnManifests(
            partitions, schema=self._home.entry_schema, settings=self._settings
        )
        with ColumnSort(partitions) as sort:
            for batch in batches:
                _check_recordable(batch)
                duplicates.add(batch)
                sort.add(batch)
                total += sum(light.to_numpy(batch.column("size")).tolist())
                self._progress.read(batch.num_rows)
            check_total(total)
            in_order = map(duplicates.checked, sort.sorted())
            infos = tuple(map(self.put, manifests.write(in_order)))
        return StagedEntries(
            infos=infos,
            count=sum(info.num_entries for info in infos),
            total_bytes=total,
        )

    def discard(self) -> None:
        """Delete the written manifests; call it only if no state can reference them."""
        self.store.delete([f"{self._home.root}/{path}" for path in self.written])
        self.written = []

    def _cut(
        self, entries: Iterator[Entry], schema: Schema, types: Mapping[str, DataType]
    ) -> Iterator[WrittenManifest]:
        settings = self._settings
        writer: ManifestWriter | None = None
        for entry in entries:
            if writer is None:
                writer = ManifestWriter(
                    schema=schema,
                    codec=codec_of(settings),
                    partition_types=types,
                    block_entries=settings.entries_per_block,
                )
            writer.append([entry])
            if writer.count >= settings.entries_per_manifest:
                yield writer.finish()
                writer = None
        if writer is not None:
            yield writer.finish()


def _check_recordable(batch: pa.RecordBatch) -> None:
    """Check the paths and sizes of a batch.

    Raises:
        InvalidArgumentError: a path is empty, or a size is negative.
    """
    paths, sizes = batch.column("path"), light.to_numpy(batch.column("size"))
    if len(sizes) and sizes.min() < 0:
        row = int(sizes.argmin())
        reason = f"the size of {paths[row].as_py()} is {sizes[row]}"
        raise InvalidArgumentError(argument="adds", reason=reason)
    if pc.any(pc.equal(pc.binary_length(paths), light.scalar(0, pa.int64()))).as_py():
        raise InvalidArgumentError(argument="adds", reason="the path of a file is empty")


@contextmanager
def _text_errors() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        reason = f"a text is not valid Unicode: {error}"
        raise InvalidArgumentError(argument="adds", reason=reason) from error


def put_parts(store: WritableStore, path: str, parts: Iterable[bytes]) -> None:
    """Put an object under a unique name.

    A large object is uploaded in parts. No service supports that for put-if-absent.

    Raises:
        ObjectExistsError: the store repeated the request after it had succeeded.
    """
    content = b"".join(parts)
    mode = PutMode.CREATE if len(content) <= WHOLE_BYTES else PutMode.OVERWRITE
    store.put(path, content, mode=mode)


def check_total(size_bytes: int) -> None:
    """Check the total size of files.

    Raises:
        InvalidArgumentError: a state cannot record it.
    """
    if not 0 <= size_bytes <= _MAX_BYTES:
        reason = f"the sizes add up to {size_bytes}, which a state cannot record"
        raise InvalidArgumentError(argument="adds", reason=reason)


def complete_entry(fields: Mapping[str, Any], schema: Schema) -> Entry:
    """Return an entry with all fields of a schema, filling in defaults.

    Raises:
        InvalidArgumentError: it has no path or size, a field that the schema lacks, or a value of
            another type.
    """
    if not isinstance(fields, Mapping):
        raise InvalidArgumentError(argument="adds", reason=f"{fields!r} is not a mapping")
    entry: Entry = {}
    for field in schema["fields"]:
        name = field["name"]
        if name in fields:
            entry[name] = fields[name]
        elif "default" in field:
            entry[name] = field["default"]
        elif name in ENTRY_DEFAULTS:
            entry[name] = ENTRY_DEFAULTS[name]
        else:
            reason = f"an entry lacks {name}: {dict(fields)}"
            raise InvalidArgumentError(argument="adds", reason=reason)
    unknown = fields.keys() - entry.keys()
    if unknown:
        reason = f"an entry has unknown fields: {', '.join(sorted(unknown))}"
        raise InvalidArgumentError(argument="adds", reason=reason)
    values = entry["partitionValues"]
    if isinstance(values, Mapping):
        entry["partitionValues"] = {k: value for k, value in values.items() if value is not None}
    if not entry["addedAtTimestamp"]:
        entry["addedAtTimestamp"] = now_ms()
    if problem := why_invalid(entry, schema):
        raise InvalidArgumentError(argument="adds", reason=f"{problem}: {dict(fields)}")
    return entry


def now_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
