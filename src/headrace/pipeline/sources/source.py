"""What a source is to a plan; and where kinds of sources come from.

A package can bring a kind of its own as an entry point in the group `headrace.sources`: a
callable that takes a `SourceRequest` and gives a `Source`.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
import pyarrow as pa

from headrace.errors import InvalidProjectError
from headrace.pipeline.project.manifest import MANIFEST, SourceSpec
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.pin import SourcePin

ENTRY_POINTS = "headrace.sources"


class SourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which source is wanted, and at which version."""

    name: str
    spec: SourceSpec
    root: Path
    """The project's folder."""
    version: int | None = None
    """The version that the caller asks for, if it does."""
    schema: pa.Schema | None = None
    """The declared columns, if there are."""
    content_cache: Path | None = None
    """A file in which hashes of files may be kept for later plans."""

    @property
    def uri(self) -> str:
        """The address, absolute."""
        if "://" in self.spec.uri:
            return self.spec.uri
        return str((self.root / self.spec.uri).resolve())

    def error(self, key: str, reason: str) -> InvalidProjectError:
        """An error that names the source's key in the project's file."""
        file = str(self.root / MANIFEST)
        return InvalidProjectError(file=file, key=f"sources.{self.name}.{key}", reason=reason)


class Source(Protocol):
    """A source at one version: what a plan asks of it."""

    @property
    def pin(self) -> SourcePin:
        """The version, and all that is known about it."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns, in the types that Spark hands out."""

    def prune(self, where: str | None) -> FileSet:
        """The files that may hold a row for which `where` is true; all if it is None."""

    def batches(self, columns: tuple[str, ...] | None = None) -> Any:
        """The rows as Arrow batches, for runners that have no reader of their own for it."""


Opener: TypeAlias = Callable[[SourceRequest], Source]


class SourceKinds(msgspec.Struct, frozen=True):
    """The kinds of sources that a project may name."""

    built_in: Mapping[str, Opener]

    def open(self, request: SourceRequest) -> Source:
        """Open a source of any kind.

        Raises:
            InvalidProjectError: nobody knows the kind.
        """
        kind = request.spec.kind
        if kind in self.built_in:
            return self.built_in[kind](request)
        found = [point for point in entry_points(group=ENTRY_POINTS) if point.name == kind]
        if not found:
            others = sorted(point.name for point in entry_points(group=ENTRY_POINTS))
            known = ", ".join((*self.built_in, *others))
            raise request.error("kind", f"there is no kind {kind!r}; there are {known}")
        opener: Opener = found[0].load()
        return opener(request)
