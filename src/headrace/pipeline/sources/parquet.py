"""Parquet files as a source: a file, a folder or a glob pattern, with a declared schema.

Without a log, a file is identified by its relative path and a hash of its content, and pruned by
the statistics in its footer.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.errors import TableNotFoundError
from headrace.expr.node import Predicate
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.sources.content_cache import ContentCache
from headrace.pipeline.sources.file_set import FILES, FileSet
from headrace.pipeline.sources.footer_pruning import Footers, files_that_may_match, read_footers
from headrace.pipeline.sources.source import LocalFile, SourceDefaults, SourceRequest
from headrace.pipeline.sources.source_pin import PinOrigin, SourcePin, harmless_uri

_WILDCARDS = frozenset("*?[")
_LISTED = pa.schema([FILES.field(name) for name in ("path", "stamp", "size_bytes")])


class ParquetSource(SourceDefaults):
    """The Parquet files that exist now."""

    is_local = True

    def __init__(self, request: SourceRequest, schema: pa.Schema, files: list[Path]) -> None:
        """Take the declared columns, and the files that the address matches."""
        self.request = request
        self.schema = schema
        self.files = files
        self._hashes: dict[Path, str] = {}

    @cached_property
    def pin(self) -> SourcePin:
        """The declared columns; Parquet files have no version."""
        return SourcePin(
            source=self.request.name,
            kind="parquet",
            uri=harmless_uri(self.request.spec.uri),
            origin=PinOrigin.NEWEST,
            schema=schema_text(self.schema),
        )

    def prune(self, where: str | Predicate | None) -> FileSet:
        """Return the files that may contain a row matching `where`, by their footers."""
        files = self.parquet_files(where)
        new = [file for file in files if file not in self._hashes]
        hashes = ContentCache(self.request.content_cache).hashes(new)
        self._hashes.update(zip(new, hashes, strict=True))
        batch = pa.RecordBatch.from_pydict(
            {
                "path": [file.relative_to(self._root).as_posix() for file in files],
                "stamp": [self._hashes[file] for file in files],
                "size_bytes": [file.stat().st_size for file in files],
            },
            _LISTED,
        )
        return FileSet.of([batch], total=len(self.files))

    def parquet_files(self, where: str | Predicate | None) -> list[Path]:
        """Return the files that `prune` keeps."""
        if where is None:
            return self.files
        return files_that_may_match(self._footers, schema=self.schema, where=where)

    def local_files(self, files: pa.Table, *, where: str | None) -> list[LocalFile]:  # noqa: ARG002
        """Return where pruned files are stored."""
        return [
            LocalFile(path=path, dv_id=None, location=self._root / path)
            for path in files["path"].to_pylist()
        ]

    @property
    def _root(self) -> Path:
        """The folder that the paths of files are relative to."""
        path = Path(self.request.uri)
        return path if path.is_dir() else path.parent

    @cached_property
    def _footers(self) -> Footers:
        return read_footers(self.files)

    def batches(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        """Return the rows, read with the declared schema."""
        dataset = ds.dataset(
            [str(file) for file in self.files], schema=self.schema, format="parquet"
        )
        return iter(dataset.to_batches(columns=None if columns is None else list(columns)))


def open_parquet(request: SourceRequest) -> ParquetSource:
    """Open a Parquet source.

    Raises:
        InvalidProjectError: a version is asked for, which Parquet files do not have.
        TableNotFoundError: there is no such file.
    """
    if request.version is not None or request.spec.version is not None or request.spec.as_of:
        raise request.error("version", "Parquet files have no versions; only Delta tables do")
    path = Path(request.uri)
    if _WILDCARDS.intersection(path.name):
        files = sorted(file for file in path.parent.glob(path.name) if file.is_file())
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*.parquet") if file.is_file())
    else:
        files = [path] if path.is_file() else []
    if not files and not path.is_dir():
        raise TableNotFoundError(table=request.uri)
    assert request.schema is not None, "the manifest was checked for it"
    return ParquetSource(request, request.schema, files)
