"""Parquet files as a source: a file, a folder or a pattern, under a declared schema.

There is no log, so a file is known by its path below the source and a hash of its content, and
pruned by the statistics in its footer.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.errors import TableNotFoundError
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.sources.content import ContentCache
from headrace.pipeline.sources.file_set import FILES, FileSet
from headrace.pipeline.sources.footer import Footers, files_that_may_match, read_footers
from headrace.pipeline.sources.pin import PinOrigin, SourcePin, harmless_uri
from headrace.pipeline.sources.source import SourceRequest

_WILD = frozenset("*?[")
_LISTED = pa.schema([FILES.field(name) for name in ("path", "stamp", "size_bytes")])


class ParquetSource:
    """The Parquet files that are there now."""

    def __init__(self, request: SourceRequest, schema: pa.Schema, files: list[Path]) -> None:
        """Take the files that the address leads to."""
        self.request = request
        self.schema = schema
        self.files = files
        self._content: dict[Path, str] = {}

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

    def prune(self, where: str | None) -> FileSet:
        """The files that may hold a row for which `where` is true, by their footers."""
        root = Path(self.request.uri)
        base = root if root.is_dir() else root.parent
        files = self.kept(where)
        new = [file for file in files if file not in self._content]
        hashes = ContentCache(self.request.content_cache).hashes(new)
        self._content.update(zip(new, hashes, strict=True))
        batch = pa.RecordBatch.from_pydict(
            {
                "path": [file.relative_to(base).as_posix() for file in files],
                "stamp": [self._content[file] for file in files],
                "size_bytes": [file.stat().st_size for file in files],
            },
            _LISTED,
        )
        return FileSet.of([batch], total=len(self.files))

    def kept(self, where: str | None) -> list[Path]:
        """Where the files are that `prune` keeps."""
        if where is None:
            return self.files
        return files_that_may_match(self._footers, schema=self.schema, where=where)

    @cached_property
    def _footers(self) -> Footers:
        return read_footers(self.files)

    def batches(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        """The rows under the declared schema."""
        dataset = ds.dataset(
            [str(file) for file in self.files], schema=self.schema, format="parquet"
        )
        return iter(dataset.to_batches(columns=None if columns is None else list(columns)))


def open_parquet(request: SourceRequest) -> ParquetSource:
    """Find the files of a Parquet source.

    Raises:
        InvalidProjectError: a version is asked for, which Parquet files do not have.
        TableNotFoundError: there is no such file.
    """
    if request.version is not None or request.spec.version is not None or request.spec.as_of:
        raise request.error("version", "Parquet files have no versions; only Delta tables do")
    path = Path(request.uri)
    if _WILD.intersection(path.name):
        files = sorted(file for file in path.parent.glob(path.name) if file.is_file())
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*.parquet") if file.is_file())
    else:
        files = [path] if path.is_file() else []
    if not files and not path.is_dir():
        raise TableNotFoundError(table=request.uri)
    assert request.schema is not None, "the project's file was checked for it"
    return ParquetSource(request, request.schema, files)
