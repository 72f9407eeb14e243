"""Rows handed to other libraries: by Arrow's stream protocol, or by a method for each library."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from headrace import wiring
from headrace.scan.lazy_imports import RecordBatchReader
from headrace.table.version import PinnedVersion

ArrowTable: TypeAlias = Any
"""A `pyarrow.Table`, named so that importing Headrace does not import Arrow."""
ArrowDataset: TypeAlias = Any
"""A `pyarrow.dataset.Dataset`, likewise."""
PandasFrame: TypeAlias = Any
"""A `pandas.DataFrame`, likewise."""
PolarsFrame: TypeAlias = Any
"""A `polars.LazyFrame`, likewise."""
DuckConnection: TypeAlias = Any
"""A `duckdb.DuckDBPyConnection`, likewise."""
DuckRelation: TypeAlias = Any
"""A `duckdb.DuckDBPyRelation`, likewise."""


class RowHandover(PinnedVersion, ABC):
    """A version whose rows any library that takes Arrow can have.

    `pa.table(snapshot)`, `polars.DataFrame(snapshot)` and `duckdb.sql("FROM snapshot")` read all
    rows; the methods here also leave out columns and rows.
    """

    @abstractmethod
    def rows(
        self,
        where: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> RecordBatchReader:
        """The rows."""

    @abstractmethod
    def to_pyarrow_dataset(self, where: str | None = None) -> ArrowDataset:
        """The rows as a dataset."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand all rows to any library that takes Arrow."""
        return self.rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of the rows, for libraries that take Arrow."""
        return self.schema.__arrow_c_schema__()

    def to_pyarrow_table(
        self, where: str | None = None, *, columns: Sequence[str] | None = None
    ) -> ArrowTable:
        """The rows as a `pyarrow.Table`, in memory; arguments and errors as for `rows`."""
        return self.rows(where, columns=columns).read_all()

    def to_pandas(
        self, where: str | None = None, *, columns: Sequence[str] | None = None, **options: Any
    ) -> PandasFrame:
        """The rows as a `pandas.DataFrame`, in memory; arguments and errors as for `rows`.

        Args:
            where: A SQL condition.
            columns: The columns to read.
            options: Passed on to `pyarrow.Table.to_pandas`, such as `types_mapper`.
        """
        wiring.require("pandas")
        return self.to_pyarrow_table(where, columns=columns).to_pandas(**options)

    def to_polars(self, where: str | None = None) -> PolarsFrame:
        """The rows as a `polars.LazyFrame`: nothing is read before it is collected.

        Polars' own projections, limits and filters reach the reader; `where` does so exactly.

        Raises:
            MissingExtraError: Polars is not installed.
            RequestError: `where` is wrong, as for `rows`.
        """
        self.rows(where, limit=0).close()  # a mistake is reported here, and not by Polars
        return wiring.open_lazy_frame(self, where)

    def to_duckdb(
        self, connection: DuckConnection | None = None, *, where: str | None = None
    ) -> DuckRelation:
        """The rows as a relation of DuckDB, over `to_pyarrow_dataset()`.

        Args:
            connection: The connection to use; by default DuckDB's own.
            where: A SQL condition, as for `to_pyarrow_dataset`.

        Raises:
            MissingExtraError: DuckDB is not installed.
        """
        return wiring.open_relation(self.to_pyarrow_dataset(where), connection)
