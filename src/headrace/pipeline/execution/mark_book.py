"""Marks the files that views read, and checks files against their marks.

During a run, the scan units of views enter, and new marks leave for the record. For a replay, a
scan unit and its recorded marks enter, and a description of each missing or altered file leaves.
"""

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
        self._by_source = {name: _SourceMarks() for name in sources}
        self._new: list[pa.Table] = []

    def mark(self, plan: ViewPlan) -> None:
        """Mark the files that a view reads and that have no valid mark.

        Raises:
            DataFileNotFoundError: a file is missing.
        """
        for unit in plan.units:
            source_marks = self._by_source[unit.source]
            with source_marks.lock:
                if unit.digest not in source_marks.marked:
                    self._mark(unit, source_marks)

    @contextmanager
    def saving(self) -> Iterator[pa.Table]:
        """Yield the marks that are not saved yet; they count as saved if the block succeeds."""
        new = list(self._new)
        yield pa.concat_tables([MARKS.empty_table(), *new])
        del self._new[: len(new)]

    def _mark(self, unit: ScanUnit, source_marks: "_SourceMarks") -> None:
        files = local_files(self._sources[unit.source], unit)
        if files and source_marks.marks is None:
            source_marks.marks = self._earlier(unit.source)
        if files and source_marks.marks is not None:
            new = make_marks(unit.source, files, earlier=source_marks.marks)
            is_old = pc.invert(
                pc.is_in(source_marks.marks["path"], value_set=new["path"].combine_chunks())
            )
            source_marks.marks = pa.concat_tables([source_marks.marks.filter(is_old), new])
            self._new.append(new)
        source_marks.marked.add(unit.digest)


class _SourceMarks:
    """The marks of one source in a run."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.marks: pa.Table | None = None
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
                file.location.stat()
                continue
            alteration = describe_alteration(
                file.location,
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
