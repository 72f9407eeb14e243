"""Marks the files that views read, once each, and checks them against their marks for a replay."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import FileListMissingError
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.runs.file_mark import MARKS, describe_alteration, make_marks
from headrace.pipeline.sources.source import LocalFile, PinnedSource


class MarkBook:
    """The marks of a run's files: those of earlier runs and new ones. It is thread-safe."""

    def __init__(
        self, sources: Mapping[str, PinnedSource], *, earlier: Callable[[str], pa.Table]
    ) -> None:
        """Take the sources of a run.

        Args:
            sources: The sources, by name.
            earlier: Reads the marks that earlier runs made of a source.
        """
        self._sources, self._earlier = sources, earlier
        self._pages = {name: _Page() for name in sources}
        self._new: list[pa.Table] = []

    def mark(self, plan: ViewPlan) -> None:
        """Mark the files that a view reads and that have no valid mark.

        Raises:
            DataFileNotFoundError: a file is missing.
        """
        for unit in plan.units:
            page = self._pages[unit.source]
            with page.lock:
                if unit.digest not in page.marked:
                    self._mark(unit, page)

    @contextmanager
    def saving(self) -> Iterator[pa.Table]:
        """Yield the marks that are not saved yet; they count as saved if the block succeeds."""
        new = list(self._new)
        yield pa.concat_tables([MARKS.empty_table(), *new])
        del self._new[: len(new)]

    def _mark(self, unit: ScanUnit, page: "_Page") -> None:
        files = local_files(self._sources[unit.source], unit)
        if files and page.known is None:
            page.known = self._earlier(unit.source)
        if files and page.known is not None:
            new = make_marks(unit.source, files, known=page.known)
            is_old = pc.invert(pc.is_in(page.known["path"], value_set=new["path"].combine_chunks()))
            page.known = pa.concat_tables([page.known.filter(is_old), new])
            self._new.append(new)
        page.marked.add(unit.digest)


class _Page:
    """The marks of one source in a run."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: pa.Table | None = None
        """The newest mark of each path; None until they are read."""
        self.marked: set[str] = set()
        """The digests of the scan units whose files are marked."""


def describe_altered_files(source: PinnedSource, unit: ScanUnit, marks: pa.Table) -> list[str]:
    """Describe the files of a scan unit that are missing or differ from their marks.

    Args:
        source: The source at the version of the unit.
        unit: What a view read of the source.
        marks: The marks of the source's files, at most one for each path.

    Raises:
        FileListMissingError: only the digest of the files is known.
    """
    marks_by_path = {mark.pop("path"): mark for mark in marks.drop_columns(["source"]).to_pylist()}
    altered = []
    for file in local_files(source, unit):
        mark = marks_by_path.get(file.path)
        try:
            if mark is None:
                file.place.stat()
                continue
            alteration = describe_alteration(
                file.place,
                size_bytes=mark["size_bytes"],
                modified_ns=mark["modified_ns"],
                content=mark["content"],
            )
        except FileNotFoundError:
            altered.append(f"{file.path} is gone")
            continue
        if alteration is not None:
            altered.append(f"{file.path} was altered: {alteration}")
    return altered


def local_files(source: PinnedSource, unit: ScanUnit) -> list[LocalFile]:
    """Return the files of a scan unit on this machine, with those of deletion vectors.

    Raises:
        FileListMissingError: only the digest of the files is known.
    """
    if not source.is_local:
        return []
    files = unit.files.read()
    if files is None:
        raise FileListMissingError(source=unit.source, digest=unit.digest)
    return source.local_files(files, where=unit.where)
