"""Hands rows to other libraries, through Arrow's stream protocol or a method per library.

Local and remote snapshots share it: a subclass supplies `rows`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from headrace import wiring
from headrace.scan.lazy_imports import RecordBatchReader
from headrace.table.version import PinnedVersion

ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`, named so that importing Headrace does not import Arrow."""
ArrowDataset: TypeAlias = Any
"""A `pyarrow.dataset.Dataset`, named for the same reason."""
PandasFrame: TypeAlias = Any
"""A `pandas.DataFrame`, named for the same reason."""
PolarsFrame: TypeAlias = Any
"""A `polars.LazyFrame`, named for the same reason."""
DuckConnection: TypeAlias = Any
"""A `duckdb.DuckDBPyConnection`, named for the same reason."""
DuckRelation: TypeAlias = Any
"""A `duckdb.DuckDBPyRelation`, named for the same reason."""


class RowHandover(PinnedVersion, ABC):
    """A version whose rows any library that reads Arrow can consume.

    `pa.table(snapshot)`, `polars.DataFrame(snapshot)` and `duckdb.sql("FROM snapshot")` read all
    rows; the methods here can also select columns and rows.
    """

    @abstractmethod
    def rows(
        self,
        where: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> RecordBatchReader:
        """Return the rows."""

    @abstractmethod
    def to_pyarrow_dataset(self, where: str | None = None) -> ArrowDataset:
        """Return the rows as a dataset."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all rows to any library that reads Arrow."""
        return self.rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the rows to libraries that read Arrow."""
        return self.schema.__arrow_c_schema__()

    def to_pyarrow_table(
        self, where: str | None = None, *, columns: Sequence[str] | None = None
    ) -> ArrowTable:
        """Return the rows as a `pyarrow.Table`, in memory; arguments and errors as for `rows`."""
        return self.rows(where, columns=columns).read_all()

    def to_pandas(
        self, where: str | None = None, *, columns: Sequence[str] | None = None, **options: Any
    ) -> PandasFrame:
        """Return the rows as a `pandas.DataFrame`, in memory; arguments and errors as for `rows`.

        Args:
            where: A SQL condition.
            columns: The columns to read.
            options: Passed on to `pyarrow.Table.to_pandas`, such as `types_mapper`.
        """
        wiring.require("pandas")
        return self.to_pyarrow_table(where, columns=columns).to_pandas(**options)

    def to_polars(self, where: str | None = None) -> PolarsFrame:
        """Return the rows as a `polars.LazyFrame`; nothing is read before it is collected.

        Projections, limits and filters of Polars are pushed down to the reader; `where` is applied
        exactly.

        Raises:
            MissingExtraError: Polars is not installed.
            RequestError: `where` is wrong, as for `rows`.
        """
        self.rows(where, limit=0).close()  # reports mistakes here instead of in Polars
        return wiring.open_lazy_frame(self, where)

    def to_duckdb(
        self, connection: DuckConnection | None = None, *, where: str | None = None
    ) -> DuckRelation:
        """Return the rows as a DuckDB relation over `to_pyarrow_dataset()`.

        Args:
            connection: The connection to use; by default DuckDB's own.
            where: A SQL condition, as for `to_pyarrow_dataset`.

        Raises:
            MissingExtraError: DuckDB is not installed.
        """
        return wiring.open_relation(self.to_pyarrow_dataset(where), connection)
