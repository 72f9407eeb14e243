"""Plans how to read the requested columns, once for all files of one schema.

The schema of a file and a `RowRequest` enter; the leaf columns to read, and their conversions,
leave.
"""

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
from headrace.rows.reading import ReadLeafColumn
from headrace.rows.request import RowRequest
from headrace.rows.resolve import (
    ColumnReading,
    MismatchError,
    ShreddedError,
    StoredColumns,
    UnreadTypeError,
)

_REMEMBERED = 8
"""The number of plans to cache; tables have few schemas over time."""


class Selection(msgspec.Struct, frozen=True):
    """Leaf columns that are read together, and the place of each file column in the result."""

    leaf_columns: list[int]
    places: Mapping[int, int]

    @classmethod
    def of(cls, columns: Iterable[ColumnReading | None]) -> "Selection":
        """Select the leaf columns of some columns."""
        present = [column for column in columns if column is not None]
        leaf_columns = frozenset[int]().union(*(column.reading.leaf_columns for column in present))
        positions = sorted({column.position for column in present})
        return cls(sorted(leaf_columns), {position: n for n, position in enumerate(positions)})


class FilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The columns to read from a file, and how to convert them to the table's."""

    columns: Mapping[str, ColumnReading | None]
    """Each requested data column by name; None if this file lacks it."""
    predicate_columns: Mapping[tuple[str, ...], ColumnReading | None]
    """Each column of the predicate, by its path."""
    everything: Selection
    evidence: Selection
    """The columns of the predicate."""
    views: frozenset[int]
    """The positions of columns that must be converted to plain types before computing."""

    @property
    def texts(self) -> list[int]:
        """Leaf columns that may be read as dictionary codes: strings that stay strings."""
        columns = (*self.columns.values(), *self.predicate_columns.values())
        readings = (column.reading for column in columns if column is not None)
        return [
            r.leaf_column for r in readings if isinstance(r, ReadLeafColumn) and r.source in _TEXTS
        ]


_TEXTS = frozenset((pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))


class PlanCache:
    """Caches the plans of recent schemas. Shared by threads; at worst a plan is made twice."""

    def __init__(self) -> None:
        self._plans: list[tuple[pa.Schema, FilePlan]] = []

    def plan(self, parquet: pq.ParquetFile, request: RowRequest, *, path: str) -> FilePlan:
        """Return the plan for a file.

        Raises:
            CorruptDataFileError: the file does not match the table's schema.
            UnsupportedFeatureError: the file has a variant in an unsupported form.
        """
        schema = (
            parquet.schema_arrow.remove_metadata()
        )  # the file's metadata; that of fields contains ids
        calendar = Calendar.of(path, parquet.metadata.metadata)
        if calendar.is_proleptic:
            for known, plan in self._plans:
                if known.equals(schema, check_metadata=True):
                    return plan
        plan = _plan(parquet, schema, calendar, request, path=path)
        if calendar.is_proleptic:
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
    def old_times(source: pa.DataType, leaf_column: int) -> Convert | None:
        physical_type = parquet.schema.column(leaf_column).physical_type
        is_old = calendar.is_old(source, physical_type=physical_type)
        return calendar.rebased if is_old else None

    try:
        columns = StoredColumns(plain_schema(schema), match_by=request.match_by, prepare=old_times)
        requested = {field.name: columns.find(field) for field in request.stored_columns}
        evaluated = {
            member_path: columns.find(member)
            for member_path, member in request.filter_columns.items()
        }
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
        columns=requested,
        predicate_columns=evaluated,
        everything=Selection.of((*requested.values(), *evaluated.values())),
        evidence=Selection.of(evaluated.values()),
        views=frozenset(n for n, f in enumerate(schema) if plain_type(f.type) != f.type),
    )
