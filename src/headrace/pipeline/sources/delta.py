"""Delta tables as sources: a snapshot pinned to one version, pruned by the kernel.

A request enters; a source leaves whose files, columns and rows all belong to that version.
"""

from collections.abc import Mapping
from functools import cached_property
from os import environ
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.errors import PinConflictError
from headrace.expr.node import Predicate
from headrace.pipeline.arrow_ddl import schema_text, spark_schema
from headrace.pipeline.sources.column_identity import mapped_columns
from headrace.pipeline.sources.file_set import FileSet, partition_texts
from headrace.pipeline.sources.source import LocalFile, SourceRequest
from headrace.pipeline.sources.source_pin import PinOrigin, SourcePin, harmless_uri, without_secrets
from headrace.pipeline.sources.vector_file import local_vector_file
from headrace.storage.location import local_root, resolve, scheme_of
from headrace.table import Snapshot, Table

_FROM_ENVIRONMENT = "env:"
_COLUMNS = ("path", "dv_id", "size_bytes", "modified_ms")
_PARTITIONED = (*_COLUMNS, "partition_values")


class DeltaSource:
    """One version of a Delta table."""

    def __init__(self, request: SourceRequest, snapshot: Snapshot, origin: PinOrigin) -> None:
        """Pin a source to a snapshot.

        Args:
            request: The source as it was requested.
            snapshot: The pinned version of its table.
            origin: Why this version was chosen.
        """
        self.request = request
        self.snapshot = snapshot
        self.origin = origin

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return spark_schema(self.snapshot.schema)

    @cached_property
    def pin(self) -> SourcePin:
        """The pinned version, and what the log says about it."""
        snapshot, protocol = self.snapshot, self.snapshot.protocol
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
        return SourcePin(
            source=self.request.name,
            kind="delta",
            uri=harmless_uri(self.request.spec.uri),
            origin=self.origin,
            version=snapshot.version,
            timestamp_ms=snapshot.timestamp_ms,
            table_id=snapshot.metadata.id,
            reader_version=protocol.min_reader_version,
            writer_version=protocol.min_writer_version,
            features=tuple(sorted(features)),
            options=without_secrets(self.request.spec.options),
            schema=schema_text(self.schema),
            partition_columns=snapshot.partition_columns,
        )

    @cached_property
    def files_total(self) -> int:
        """The number of live files of the version."""
        return self.snapshot.scan().count()

    def prune(self, where: str | Predicate | None) -> FileSet:
        """Return the files that may contain a row matching `where`."""
        columns = _PARTITIONED if self.snapshot.partition_columns else _COLUMNS
        scan = self.snapshot.scan(where=where)
        batches = [_as_files(batch) for batch in scan.batches(columns=columns)]
        total = sum(b.num_rows for b in batches) if where is None else self.files_total
        return FileSet.of(batches, total=total)

    def batches(self, columns: tuple[str, ...] | None = None) -> Any:
        """Return the rows, read by the kernel."""
        return self.snapshot.rows(columns=columns)

    @property
    def is_local(self) -> bool:
        """Whether the table is on this machine."""
        return scheme_of(self.snapshot.table.uri) == "file"

    def at_version(self, version: int) -> "DeltaSource":
        """Return the source at another version of its table.

        Raises:
            TableError: the version cannot be read.
        """
        snapshot = self.snapshot.table.snapshot(version=version)
        return DeltaSource(self.request, snapshot, self.origin)

    def parquet_files(self, where: str | Predicate | None) -> list[Path] | None:  # noqa: ARG002
        """Return None: the log says which rows of its files a table has."""
        return None

    def column_identities(self) -> dict[str, str]:
        """Return the type of each column, and its physical names where they differ."""
        return mapped_columns(self.schema, self.snapshot)

    def local_files(self, files: pa.Table, *, where: str | None) -> list[LocalFile]:
        """Return where data files and the files of their deletion vectors are stored."""
        root = local_root(self.snapshot.table.uri)
        names = zip(files["path"].to_pylist(), files["dv_id"].to_pylist(), strict=True)
        local = [
            LocalFile(path=path, dv_id=dv_id, location=Path(resolve(root, path)))
            for path, dv_id in names
        ]
        if files["dv_id"].null_count < files.num_rows:
            local += self._vector_files(where)
        return local

    def _vector_files(self, where: str | None) -> list[LocalFile]:
        """Return each deletion-vector file once: a file can hold the vectors of many data files."""
        uri = self.snapshot.table.uri
        scan = self.snapshot.scan(where=where)
        locations = (local_vector_file(uri, file.deletion_vector) for file in scan)
        return [
            LocalFile(path=location.name, dv_id=None, location=location)
            for location in dict.fromkeys(locations)
            if location is not None
        ]


def open_delta(request: SourceRequest) -> DeltaSource:
    """Open a Delta source at one version.

    Raises:
        PinConflictError: the project and the caller ask for different versions.
        TableNotFoundError: there is no table.
    """
    spec = request.spec
    table = Table(request.uri, storage_options=open_options(spec.options))
    if spec.version is None and spec.as_of is None:
        origin = PinOrigin.NEWEST if request.version is None else PinOrigin.REQUEST
        return DeltaSource(request, table.snapshot(version=request.version), origin)
    snapshot = table.snapshot(version=spec.version, as_of=spec.as_of)
    if request.version not in {None, snapshot.version}:
        pinned_by = f"as of {spec.as_of}" if spec.as_of is not None else "in headrace.toml"
        pins = (f"version {snapshot.version} ({pinned_by})", f"version {request.version}")
        raise PinConflictError(source=request.name, pins=pins)
    return DeltaSource(request, snapshot, PinOrigin.PROJECT)


def _as_files(batch: Any) -> Any:
    """Convert a batch of a scan: modification times and partition values become text."""
    stamps = batch.column("modified_ms").cast(pa.string())
    batch = batch.drop_columns(["modified_ms"]).append_column("stamp", stamps)
    if "partition_values" not in batch.schema.names:
        return batch
    texts = partition_texts(batch.column("partition_values"))
    return batch.drop_columns(["partition_values"]).append_column("partition", texts)


def open_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a store, with `env:NAME` replaced from the environment."""
    return {
        name: environ.get(value.removeprefix(_FROM_ENVIRONMENT), "")
        if value.startswith(_FROM_ENVIRONMENT)
        else value
        for name, value in options.items()
    }
