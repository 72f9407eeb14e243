"""The source protocols, and the registry of source kinds.

`Source` is the contract for packages that add a kind: an entry point in the group
`headrace.sources`, a callable that takes a `SourceRequest` and returns a `Source`. Planning and
running use `PinnedSource`, which adds what can be known of Delta tables and local Parquet files;
`SourceDefaults` has the answers of sources that are neither.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import msgspec
import pyarrow as pa

from headrace.errors import InvalidProjectError
from headrace.expr.node import Predicate
from headrace.pipeline.project.manifest import MANIFEST, SourceSpec
from headrace.pipeline.sources.column_identity import typed_columns
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.source_pin import SourcePin
from headrace.table import Snapshot

ENTRY_POINTS = "headrace.sources"


class SourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A source to open, and the version to pin it to."""

    name: str
    spec: SourceSpec
    root: Path
    """The project's folder."""
    version: int | None = None
    """The version that the caller asks for; None for the project's choice."""
    schema: pa.Schema | None = None
    """The declared columns; None if the project declares none."""
    content_cache: Path | None = None
    """A file that caches content hashes between plans; None disables the cache."""

    @property
    def uri(self) -> str:
        """The absolute address."""
        if "://" in self.spec.uri:
            return self.spec.uri
        return str((self.root / self.spec.uri).resolve())

    def error(self, key: str, reason: str) -> InvalidProjectError:
        """Return an error about a key of this source in the project's manifest."""
        file = str(self.root / MANIFEST)
        return InvalidProjectError(file=file, key=f"sources.{self.name}.{key}", reason=reason)


class LocalFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a source reads from this machine."""

    path: str
    """As the log or the source names it."""
    dv_id: str | None
    location: Path
    """Where it is stored."""


class Source(Protocol):
    """A source at one version, as a package has to provide it."""

    @property
    def pin(self) -> SourcePin:
        """The pinned version and its metadata."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, in the Arrow types that Spark returns."""

    def prune(self, where: str | None) -> FileSet:
        """Return the files that may contain a row matching `where`; all files if it is None.

        Packages get the condition as SQL text, which every release understands.
        """

    def batches(self, columns: tuple[str, ...] | None = None) -> Any:
        """Return the rows as Arrow batches, for runners without a native reader for the source."""


class PinnedSource(Source, Protocol):
    """A source at one version, as plans and runners use it."""

    @property
    def snapshot(self) -> Snapshot | None:
        """The pinned snapshot of a Delta table; None for other kinds."""

    @property
    def is_local(self) -> bool:
        """Whether `local_files` can name the files that the source reads."""

    def prune(self, where: str | Predicate | None) -> FileSet:
        """Return the files that may contain a row matching `where`, a value or stored text."""

    def at_version(self, version: int) -> "PinnedSource":
        """Return the source at another version; a source without versions returns itself."""

    def parquet_files(self, where: str | Predicate | None) -> list[Path] | None:
        """Return the Parquet files that `prune` keeps; None if rows are not read from plain files.

        A Delta table returns None: its log, not a listing, says which rows its files have.
        """

    def column_identities(self) -> dict[str, str]:
        """Return what the values of each column depend on, by column in the source's order."""

    def local_files(self, files: pa.Table, *, where: str | None) -> list[LocalFile]:
        """Return where pruned files, and those of their deletion vectors, are on this machine.

        Args:
            files: The files, with the columns `path` and `dv_id`.
            where: The predicate that pruned them.
        """


class SourceDefaults:
    """The answers of a source that has no log and no local files."""

    schema: pa.Schema
    snapshot: Snapshot | None = None
    is_local: bool = False

    def at_version(self, version: int) -> Self:  # noqa: ARG002
        """Return the source itself: it has no versions."""
        return self

    def parquet_files(self, where: str | Predicate | None) -> list[Path] | None:  # noqa: ARG002
        """Return None: rows are read as batches."""
        return None

    def column_identities(self) -> dict[str, str]:
        """Return the type of each column."""
        return typed_columns(self.schema)

    def local_files(self, files: pa.Table, *, where: str | None) -> list[LocalFile]:  # noqa: ARG002
        """Return no files."""
        return []


class PluginSource(SourceDefaults):
    """A source of a kind that another package provides."""

    def __init__(self, source: Source) -> None:
        """Wrap the package's source."""
        self._source = source
        self.schema = source.schema

    @property
    def pin(self) -> SourcePin:
        """The pinned version and its metadata."""
        return self._source.pin

    def prune(self, where: str | Predicate | None) -> FileSet:
        """Return the files that may contain a row matching `where`."""
        return self._source.prune(None if where is None else str(where))

    def batches(self, columns: tuple[str, ...] | None = None) -> Any:
        """Return the rows as Arrow batches."""
        return self._source.batches(columns)


Opener: TypeAlias = Callable[[SourceRequest], PinnedSource]


class SourceKinds(msgspec.Struct, frozen=True):
    """The kinds of sources that a project may name: built in, or from entry points."""

    built_in: Mapping[str, Opener]

    def open(self, request: SourceRequest) -> PinnedSource:
        """Open a source of any kind.

        Raises:
            InvalidProjectError: the kind is unknown.
        """
        kind = request.spec.kind
        if kind in self.built_in:
            return self.built_in[kind](request)
        points = entry_points(group=ENTRY_POINTS)
        point = next((point for point in points if point.name == kind), None)
        if point is None:
            kinds = ", ".join((*self.built_in, *sorted(point.name for point in points)))
            raise request.error("kind", f"there is no kind {kind!r}; there are {kinds}")
        return PluginSource(point.load()(request))
