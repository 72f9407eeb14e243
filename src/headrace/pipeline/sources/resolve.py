"""From the sources that a project names to sources that are pinned."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from headrace.errors import InvalidArgumentError, TableNotFoundError
from headrace.pipeline.arrow_ddl import parse_schema, schema_text
from headrace.pipeline.project.manifest import SourceSpec
from headrace.pipeline.sources.delta import DeltaSource, open_delta
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.parquet import open_parquet
from headrace.pipeline.sources.pin import PinOrigin, Pins, SourcePin, harmless_uri
from headrace.pipeline.sources.source import Source, SourceKinds, SourceRequest
from headrace.storage.location import local_root, scheme_of

_CONTENT_CACHE = "content.sqlite"
KINDS = SourceKinds({"delta": open_delta, "parquet": open_parquet})


class MissingSource:
    """An optional source that is not there: no files, under the declared columns."""

    def __init__(self, request: SourceRequest, schema: pa.Schema) -> None:
        """Stand in for it."""
        self.schema = schema
        self.pin = SourcePin(
            source=request.name,
            kind=request.spec.kind,
            uri=harmless_uri(request.spec.uri),
            origin=PinOrigin.MISSING,
            schema=schema_text(schema),
        )

    def prune(self, where: str | None) -> FileSet:  # noqa: ARG002
        """No files."""
        return FileSet.of([], total=0)

    def batches(self, columns: tuple[str, ...] | None = None) -> Iterable[pa.RecordBatch]:
        """No rows."""
        fields = [f for f in self.schema if columns is None or f.name in columns]
        return [pa.RecordBatch.from_pylist([], schema=pa.schema(fields))]


def resolve_sources(
    specs: Mapping[str, SourceSpec],
    *,
    root: Path,
    pins: Pins,
    kinds: SourceKinds = KINDS,
    state: Path | None = None,
) -> dict[str, Source]:
    """Pin every source to one version.

    Two sources that are the same table, neither pinned, get the same version. In `state`, the
    project's folder for such things, hashes of files without a log are kept.

    Raises:
        InvalidArgumentError: a pin names no source.
        PinConflictError: a source is pinned to two versions.
    """
    for name in pins:
        if name not in specs:
            reason = f"there is no source {name}; there are {', '.join(sorted(specs)) or 'none'}"
            raise InvalidArgumentError(argument="--pin", reason=reason)
    newest: dict[str, int] = {}
    resolved: dict[str, Source] = {}
    for name, spec in sorted(specs.items()):
        request = SourceRequest(
            name=name,
            spec=spec,
            root=root,
            version=pins.get(name),
            schema=None if spec.schema is None else parse_schema(spec.schema),
            content_cache=None if state is None else state / _CONTENT_CACHE,
        )
        source = _open(request, kinds)
        if isinstance(source, DeltaSource) and source.origin is PinOrigin.NEWEST:
            version = newest.setdefault(request.uri, source.snapshot.version)
            if version != source.snapshot.version:
                snapshot = source.snapshot.table.snapshot(version=version)
                source = DeltaSource(request, snapshot, PinOrigin.NEWEST)
        resolved[name] = source
    return resolved


def _open(request: SourceRequest, kinds: SourceKinds) -> Source:
    try:
        return kinds.open(request)
    except TableNotFoundError:
        if not request.spec.optional:
            raise
        assert request.schema is not None, "the project's file was checked for it"
        return MissingSource(request, request.schema)


def local_tables(specs: Mapping[str, SourceSpec], *, root: Path) -> dict[str, Path]:
    """By name, the folders of the sources that are Delta tables on this machine."""
    return {
        name: Path(local_root(spec.uri if "://" in spec.uri else str(root / spec.uri)))
        for name, spec in specs.items()
        if spec.kind == "delta" and scheme_of(spec.uri) == "file"
    }
