"""Marks of the files that views read: made once for each file, and compared before a replay."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import FileListMissingError
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.runs.file_mark import (
    MARKS,
    FileToMark,
    describe_alteration,
    make_marks,
)
from headrace.pipeline.sources.delta import DeltaSource
from headrace.pipeline.sources.parquet import ParquetSource
from headrace.pipeline.sources.source import Source
from headrace.pipeline.sources.vector_file import vector_place
from headrace.storage.location import local_root, resolve, scheme_of


class MarkBook:
    """The marks of a run's files: those of earlier runs, and new ones. Threads may share it."""

    def __init__(
        self, sources: Mapping[str, Source], *, earlier: Callable[[str], pa.Table]
    ) -> None:
        """Take the sources, and what reads the earlier marks of one by its name."""
        self._sources, self._earlier = sources, earlier
        self._pages = {name: _Page() for name in sources}
        self._new: list[pa.Table] = []

    def mark(self, plan: ViewPlan) -> None:
        """Mark the files that a view reads, as far as they have no mark that still holds.

        Raises:
            DataFileNotFoundError: a file is gone.
        """
        for unit in plan.units:
            page = self._pages[unit.source]
            with page.lock:
                if unit.digest not in page.marked:
                    self._mark(unit, page)

    @contextmanager
    def saving(self) -> Iterator[pa.Table]:
        """Give the marks that were made and are not saved yet; they are, if the block succeeds."""
        new = list(self._new)
        yield pa.concat_tables([MARKS.empty_table(), *new])
        del self._new[: len(new)]

    def _mark(self, unit: ScanUnit, page: "_Page") -> None:
        files = files_of(self._sources[unit.source], unit)
        if files and page.known is None:
            page.known = self._earlier(unit.source)
        if files and page.known is not None:
            new = make_marks(unit.source, files, known=page.known)
            is_old = pc.invert(pc.is_in(page.known["path"], value_set=new["path"].combine_chunks()))
            page.known = pa.concat_tables([page.known.filter(is_old), new])
            self._new.append(new)
        page.marked.add(unit.digest)


class _Page:
    """What is known of one source in a run."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: pa.Table | None = None
        self.marked: set[str] = set()


def describe_altered_files(source: Source, unit: ScanUnit, marks: pa.Table) -> list[str]:
    """Which files of a unit are gone, or differ from their marks, in words.

    Args:
        source: The source at the version of the unit.
        unit: What a view read of it.
        marks: The marks of the source's files, at most one of each path.

    Raises:
        FileListMissingError: only the digest of the files is known.
    """
    known = {mark.pop("path"): mark for mark in marks.drop_columns(["source"]).to_pylist()}
    wrong = []
    for file in files_of(source, unit):
        mark = known.get(file.path)
        try:
            if mark is None:
                file.place.stat()
                continue
            how = describe_alteration(
                file.place,
                size_bytes=mark["size_bytes"],
                modified_ns=mark["modified_ns"],
                content=mark["content"],
            )
        except FileNotFoundError:
            wrong.append(f"{file.path} is gone")
            continue
        if how is not None:
            wrong.append(f"{file.path} was altered: {how}")
    return wrong


def files_of(source: Source, unit: ScanUnit) -> list[FileToMark]:
    """The local files of a scan unit, those of its deletion vectors among them.

    Raises:
        FileListMissingError: only the digest of the files is known.
    """
    if isinstance(source, DeltaSource):
        root = source.snapshot.table.uri
    elif isinstance(source, ParquetSource):
        place = Path(source.request.uri)
        root = str(place if place.is_dir() else place.parent)
    else:
        return []
    if scheme_of(root) != "file":
        return []
    files = unit.files.read()
    if files is None:
        raise FileListMissingError(source=unit.source, digest=unit.digest)
    base, is_delta = local_root(root), isinstance(source, DeltaSource)
    data = [
        FileToMark(path=path, dv_id=vector, place=_place(base, path, is_uri=is_delta))
        for path, vector in zip(files["path"].to_pylist(), files["dv_id"].to_pylist(), strict=True)
    ]
    if isinstance(source, DeltaSource) and files["dv_id"].null_count < files.num_rows:
        data += _vector_files(source, unit)
    return data


def _vector_files(source: DeltaSource, unit: ScanUnit) -> list[FileToMark]:
    """The files that hold deletion vectors of a unit's files, each once: one may hold many."""
    root = source.snapshot.table.uri
    places = (
        vector_place(root, file.deletion_vector) for file in source.snapshot.scan(where=unit.where)
    )
    return [
        FileToMark(path=place.name, dv_id=None, place=place)
        for place in dict.fromkeys(places)
        if place is not None
    ]


def _place(base: str, path: str, *, is_uri: bool) -> Path:
    return Path(resolve(base, path)) if is_uri else Path(base) / path
