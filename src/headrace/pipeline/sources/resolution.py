"""Resolves the sources of a project's manifest to pinned sources.

The manifest, the project's folder and requested versions enter; an opened source for each name
leaves. A source that is optional and missing becomes an empty one.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from headrace.errors import InvalidArgumentError, TableNotFoundError
from headrace.expr.node import Predicate
from headrace.pipeline.arrow_ddl import parse_schema, schema_text
from headrace.pipeline.place import Place
from headrace.pipeline.project.manifest import SourceSpec
from headrace.pipeline.sources.delta import open_delta
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.parquet import open_parquet
from headrace.pipeline.sources.source import (
    PinnedSource,
    SourceDefaults,
    SourceKinds,
    SourceRequest,
)
from headrace.pipeline.sources.source_pin import PinOrigin, Pins, SourcePin, harmless_uri
from headrace.storage.location import local_root, scheme_of

_CONTENT_CACHE = "content.sqlite"
KINDS = SourceKinds({"delta": open_delta, "parquet": open_parquet})


class MissingSource(SourceDefaults):
    """An optional source that does not exist: the declared columns, and no files."""

    def __init__(self, request: SourceRequest, schema: pa.Schema) -> None:
        """Take the declared columns."""
        self.schema = schema
        self.pin = SourcePin(
            source=request.name,
            kind=request.spec.kind,
            uri=harmless_uri(request.spec.uri),
            origin=PinOrigin.MISSING,
            schema=schema_text(schema),
        )

    def prune(self, where: str | Predicate | None) -> FileSet:  # noqa: ARG002
        """Return no files."""
        return FileSet.of([], total=0)

    def batches(self, columns: tuple[str, ...] | None = None) -> Iterable[pa.RecordBatch]:
        """Return no rows."""
        fields = [f for f in self.schema if columns is None or f.name in columns]
        return [pa.RecordBatch.from_pylist([], schema=pa.schema(fields))]


def resolve_sources(
    specs: Mapping[str, SourceSpec],
    *,
    root: Path,
    pins: Pins,
    kinds: SourceKinds = KINDS,
    cache: Path | None = None,
) -> dict[str, PinnedSource]:
    """Open every source, pinned to one version.

    Sources that are the same table, and that nothing pins, get the same version.

    Args:
        specs: The sources of the manifest, by name.
        root: The project's folder.
        pins: The versions that the caller asks for, by source.
        kinds: The kinds of sources.
        cache: A local folder that caches content hashes; None disables the cache.

    Raises:
        InvalidArgumentError: a pin names no source.
        PinConflictError: a source is pinned to two versions.
    """
    for name in pins:
        if name not in specs:
            reason = f"there is no source {name}; there are {', '.join(sorted(specs)) or 'none'}"
            raise InvalidArgumentError(argument="--pin", reason=reason)
    newest: dict[str, int] = {}
    resolved: dict[str, PinnedSource] = {}
    for name, spec in sorted(specs.items()):
        request = SourceRequest(
            name=name,
            spec=spec,
            root=root,
            version=pins.get(name),
            schema=None if spec.schema is None else parse_schema(spec.schema),
            content_cache=None if cache is None else cache / _CONTENT_CACHE,
        )
        source = _open(request, kinds)
        if source.snapshot is not None and source.pin.origin is PinOrigin.NEWEST:
            version = newest.setdefault(request.uri, source.snapshot.version)
            if version != source.snapshot.version:
                source = source.at_version(version)
        resolved[name] = source
    return resolved


def _open(request: SourceRequest, kinds: SourceKinds) -> PinnedSource:
    try:
        return kinds.open(request)
    except TableNotFoundError:
        if not request.spec.optional:
            raise
        assert request.schema is not None, "the manifest was checked for it"
        return MissingSource(request, request.schema)


def local_tables(specs: Mapping[str, SourceSpec], *, root: Path) -> dict[str, Path]:
    """Return the folders of the sources that are local Delta tables, by source."""
    return {
        name: Path(local_root(spec.uri if "://" in spec.uri else str(root / spec.uri)))
        for name, spec in specs.items()
        if spec.kind == "delta" and scheme_of(spec.uri) == "file"
    }


def find_source_at(table: Place, specs: Mapping[str, SourceSpec], *, root: Path) -> str | None:
    """Return the name of the source at the address of a table; None if there is none."""
    if table.is_local:
        folder = table.path.resolve()
        local = local_tables(specs, root=root)
        return next((name for name, path in local.items() if path.resolve() == folder), None)
    remote = {name: spec.uri.rstrip("/") for name, spec in specs.items()}
    return next((name for name, uri in remote.items() if uri == table.uri), None)
