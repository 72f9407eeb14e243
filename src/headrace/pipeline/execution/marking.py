"""Marks of the files that views read, each file looked at once a run."""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.runs.file_mark import FileMark, FileToMark, make_marks
from headrace.pipeline.sources.delta import DeltaSource
from headrace.pipeline.sources.parquet import ParquetSource
from headrace.pipeline.sources.source import Source
from headrace.pipeline.sources.vector_file import vector_place
from headrace.storage.location import local_root, resolve, scheme_of


class MarkBook:
    """The marks that were made in a run, or are known from earlier ones."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        """Take the sources whose files are marked."""
        self._sources = sources
        self._known: dict[str, dict[str, FileMark]] = {}
        self._lock = Lock()

    def take_over(self, marks: Mapping[str, tuple[FileMark, ...]]) -> None:
        """Learn the marks of an earlier run; they count for files that have not changed."""
        with self._lock:
            for source, found in marks.items():
                self._known.setdefault(source, {}).update({mark.path: mark for mark in found})

    def mark(self, plan: ViewPlan) -> dict[str, tuple[FileMark, ...]]:
        """By source, the marks of the files that a view reads.

        Raises:
            DataFileNotFoundError: a file is gone.
        """
        found = {}
        for unit in plan.units:
            files = files_of(self._sources[unit.source], unit)
            known = dict(self._known.get(unit.source, {}))
            found[unit.source] = make_marks(files, known=known)
        self.take_over(found)
        return found


def files_of(source: Source, unit: ScanUnit) -> list[FileToMark]:
    """The local files of a scan unit, those of its deletion vectors among them."""
    if isinstance(source, DeltaSource):
        root = source.snapshot.table.uri
    elif isinstance(source, ParquetSource):
        place = Path(source.request.uri)
        root = str(place if place.is_dir() else place.parent)
    else:
        return []
    if scheme_of(root) != "file":
        return []
    is_delta = isinstance(source, DeltaSource)
    data = [
        FileToMark(path=path, dv_id=vector, place=_place(root, path, is_uri=is_delta))
        for path, vector in zip(unit.paths, unit.dv_ids, strict=True)
    ]
    return [*data, *(_vector_files(source, unit) if isinstance(source, DeltaSource) else ())]


def _vector_files(source: DeltaSource, unit: ScanUnit) -> list[FileToMark]:
    """The files that hold deletion vectors of a unit's files, each once: one may hold many."""
    if not any(unit.dv_ids):
        return []
    root = source.snapshot.table.uri
    places = (
        vector_place(root, file.deletion_vector) for file in source.snapshot.scan(where=unit.where)
    )
    return [
        FileToMark(path=place.name, dv_id=None, place=place)
        for place in dict.fromkeys(places)
        if place is not None
    ]


def _place(root: str, path: str, *, is_uri: bool) -> Path:
    base = local_root(root)
    return Path(resolve(base, path)) if is_uri else Path(base) / path
