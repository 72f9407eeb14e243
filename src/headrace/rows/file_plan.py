"""How the wanted columns are read from files of one schema: worked out once for all of them."""

from collections.abc import Iterable, Mapping

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import (
    CorruptDataFileError,
    UnsupportedFeatureError,
    UnsupportedFileError,
)
from headrace.rows.calendar import Calendar
from headrace.rows.convert import Convert
from headrace.rows.plain import plain_schema, plain_type
from headrace.rows.reading import ReadLeaf
from headrace.rows.request import RowRequest
from headrace.rows.resolve import (
    ColumnReading,
    MismatchError,
    ShreddedError,
    StoredColumns,
    UnreadTypeError,
)

_REMEMBERED = 8
"""Tables have had few schemas; files of one schema mostly follow each other."""


class Selection(msgspec.Struct, frozen=True):
    """Leaf columns that are read together, and where each column of the file then stands."""

    leaves: list[int]
    places: Mapping[int, int]

    @classmethod
    def of(cls, columns: Iterable[ColumnReading | None]) -> "Selection":
        """The leaves of some columns."""
        present = [column for column in columns if column is not None]
        leaves = frozenset[int]().union(*(column.reading.leaves for column in present))
        positions = sorted({column.position for column in present})
        return cls(sorted(leaves), {position: n for n, position in enumerate(positions)})


class FilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is read from a file, and how it becomes the table's columns."""

    wanted: Mapping[str, ColumnReading | None]
    """Each wanted column that files hold, by name; None: this file lacks it."""
    looked_at: Mapping[tuple[str, ...], ColumnReading | None]
    """Each column that the predicate looks at, by its path."""
    everything: Selection
    evidence: Selection
    """What the predicate looks at."""
    views: frozenset[int]
    """Where columns stand that few kernels take, until they are made plain."""

    @property
    def texts(self) -> list[int]:
        """The leaves that may be read as dictionary codes: columns of texts that stay texts."""
        columns = (*self.wanted.values(), *self.looked_at.values())
        readings = (column.reading for column in columns if column is not None)
        return [r.leaf for r in readings if isinstance(r, ReadLeaf) and r.source in _TEXTS]


_TEXTS = frozenset((pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))


class PlanCache:
    """The plans of the schemas that were met last. Threads share it: at worst one plans again."""

    def __init__(self) -> None:
        self._plans: list[tuple[pa.Schema, FilePlan]] = []

    def plan(self, parquet: pq.ParquetFile, request: RowRequest, *, path: str) -> FilePlan:
        """The plan for a file.

        Raises:
            CorruptDataFileError: the file does not have what the table says.
            UnsupportedFeatureError: it has a variant in a form that is not read.
        """
        schema = parquet.schema_arrow.remove_metadata()  # of the file; that of fields has ids
        calendar = Calendar.of(path, parquet.metadata.metadata)
        if calendar.is_todays:
            for known, plan in self._plans:
                if known.equals(schema, check_metadata=True):
                    return plan
        plan = _plan(parquet, schema, calendar, request, path=path)
        if calendar.is_todays:
            self._plans = [(schema, plan), *self._plans[: _REMEMBERED - 1]]
        return plan


def _plan(
    parquet: pq.ParquetFile,
    schema: pa.Schema,
    calendar: Calendar,
    request: RowRequest,
    *,
    path: str,
) -> FilePlan:
    def old_times(source: pa.DataType, leaf: int) -> Convert | None:
        physical_type = parquet.schema.column(leaf).physical_type
        is_old = calendar.is_old(source, physical_type=physical_type)
        return calendar.rebased if is_old else None

    try:
        columns = StoredColumns(plain_schema(schema), match_by=request.match_by, prepare=old_times)
        wanted = {field.name: columns.find(field) for field in request.stored_columns}
        looked_at = {at: columns.find(way) for at, way in request.filter_columns.items()}
    except MismatchError as error:
        raise CorruptDataFileError(path=path, reason=str(error)) from error
    except UnreadTypeError as error:
        raise UnsupportedFileError(
            path=path,
            reason=str(error),
            column=error.column,
            writer=parquet.metadata.created_by,
        ) from error
    except ShreddedError as error:
        raise UnsupportedFeatureError(table=path, features=[str(error)]) from error
    return FilePlan(
        wanted=wanted,
        looked_at=looked_at,
        everything=Selection.of((*wanted.values(), *looked_at.values())),
        evidence=Selection.of(looked_at.values()),
        views=frozenset(n for n, f in enumerate(schema) if plain_type(f.type) != f.type),
    )
