"""Delta tables as sources: pinned snapshots, pruned by the kernel."""

from collections.abc import Mapping
from functools import cached_property
from os import environ
from typing import Any

import pyarrow as pa

from headrace.errors import PinConflictError
from headrace.pipeline.arrow_ddl import schema_text, spark_schema
from headrace.pipeline.sources.file_set import FileSet, partition_texts
from headrace.pipeline.sources.pin import PinOrigin, SourcePin, harmless_uri, without_secrets
from headrace.pipeline.sources.source import SourceRequest
from headrace.table import Snapshot, Table

_FROM_ENVIRONMENT = "env:"
_COLUMNS = ("path", "dv_id", "size_bytes", "modified_ms")
_PARTITIONED = (*_COLUMNS, "partition_values")


class DeltaSource:
    """One version of a Delta table."""

    def __init__(self, request: SourceRequest, snapshot: Snapshot, origin: PinOrigin) -> None:
        """Take the snapshot that the source is pinned to."""
        self.request = request
        self.snapshot = snapshot
        self.origin = origin

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return spark_schema(self.snapshot.schema)

    @cached_property
    def pin(self) -> SourcePin:
        """The version, and what the log says about it."""
        taken, protocol = self.snapshot, self.snapshot.protocol
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
        return SourcePin(
            source=self.request.name,
            kind="delta",
            uri=harmless_uri(self.request.spec.uri),
            origin=self.origin,
            version=taken.version,
            timestamp_ms=taken.timestamp_ms,
            table_id=taken.metadata.id,
            reader_version=protocol.min_reader_version,
            writer_version=protocol.min_writer_version,
            features=tuple(sorted(features)),
            options=without_secrets(self.request.spec.options),
            schema=schema_text(self.schema),
            partition_columns=taken.partition_columns,
        )

    @cached_property
    def files_total(self) -> int:
        """How many files the version has."""
        return self.snapshot.scan().count()

    def prune(self, where: str | None) -> FileSet:
        """The files that may hold a row for which `where` is true."""
        columns = _PARTITIONED if self.snapshot.partition_columns else _COLUMNS
        scan = self.snapshot.scan(where=where)
        batches = [_as_files(batch) for batch in scan.batches(columns=columns)]
        total = sum(b.num_rows for b in batches) if where is None else self.files_total
        return FileSet.of(batches, total=total)

    def batches(self, columns: tuple[str, ...] | None = None) -> Any:
        """The rows, as the kernel reads them."""
        return self.snapshot.rows(columns=columns)


def open_delta(request: SourceRequest) -> DeltaSource:
    """Resolve a Delta source to one version.

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
        named = f"as of {spec.as_of}" if spec.as_of is not None else "in headrace.toml"
        pins = (f"version {snapshot.version} ({named})", f"version {request.version}")
        raise PinConflictError(source=request.name, pins=pins)
    return DeltaSource(request, snapshot, PinOrigin.PROJECT)


def _as_files(batch: Any) -> Any:
    """A batch of files in which the time of writing and the partition values are texts."""
    stamps = batch.column("modified_ms").cast(pa.string())
    batch = batch.drop_columns(["modified_ms"]).append_column("stamp", stamps)
    if "partition_values" not in batch.schema.names:
        return batch
    texts = partition_texts(batch.column("partition_values"))
    return batch.drop_columns(["partition_values"]).append_column("partition", texts)


def open_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a store, with `env:NAME` replaced by the environment's value."""
    return {
        name: environ.get(value.removeprefix(_FROM_ENVIRONMENT), "")
        if value.startswith(_FROM_ENVIRONMENT)
        else value
        for name, value in options.items()
    }
