"""One version of a table as its log describes it, without reading data or more of the log.

A `TableVersion` enters; schema, protocol, metadata and requests for rows leave.
"""

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

from headrace import wiring
from headrace.errors import InvalidTableError, UnsupportedFeatureError
from headrace.expr.node import Basis, BoundPredicate, Predicate
from headrace.log.dialect import INDEXTABLES
from headrace.log.segment import Segment
from headrace.phases.snapshot import TableVersion
from headrace.protocol.action import Metadata, Protocol
from headrace.protocol.column_mapping import mapping_mode, table_schema
from headrace.protocol.schema import StructType
from headrace.protocol.widening import check_followed
from headrace.rows.option import RowOptions
from headrace.scan.argument import column_names, predicate
from headrace.scan.lazy_imports import ArrowSchema
from headrace.scan.live_file import FileContext, PartitionColumn

RowRequest: TypeAlias = Any
"""A `headrace.rows.request.RowRequest`, named so that importing Headrace does not import Arrow."""


class PinnedVersion:
    """Schema, protocol and metadata of a version. Equal for the same version of the same table."""

    def __init__(self, table_version: TableVersion) -> None:
        self.table_version = table_version

    @property
    def state(self) -> TableVersion:
        """The former name of `table_version`."""
        warnings.warn("use `table_version` instead of `state`", DeprecationWarning, stacklevel=2)
        return self.table_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PinnedVersion):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, int]:
        # A table that was dropped and created again at the same address has another id.
        return (self.table_version.table, self.metadata.id, self.version)

    @property
    def version(self) -> int:
        """The version."""
        return self.table_version.segment.version

    @property
    def segment(self) -> Segment:
        """The log files that make up the version."""
        return self.table_version.segment

    @property
    def protocol(self) -> Protocol:
        """The protocol versions and features that a client must support."""
        return self.table_version.protocol

    @property
    def metadata(self) -> Metadata:
        """Schema, partitioning and properties as stored in the log."""
        return self.table_version.metadata

    @property
    def properties(self) -> dict[str, str | None]:
        """The table's properties."""
        return dict(self.table_version.metadata.configuration)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the columns that the table is partitioned by."""
        return tuple(self.table_version.metadata.partition_columns)

    @cached_property
    def schema(self) -> ArrowSchema:
        """The table's columns as a `pyarrow.Schema`, converted on first use.

        Raises:
            InvalidTableError: the schema cannot be decoded, or has an unknown type.
        """
        try:
            return wiring.arrow_schema(self.logical_schema)
        except ValueError as error:
            raise InvalidTableError(table=self.table_version.table, reason=str(error)) from error

    @cached_property
    def logical_schema(self) -> StructType:
        """The table's columns as stored in the log.

        Raises:
            InvalidTableError: the schema cannot be decoded.
        """
        try:
            return table_schema(self.protocol, self.metadata)
        except ValueError as error:
            raise InvalidTableError(table=self.table_version.table, reason=str(error)) from error

    @cached_property
    def readable_schema(self) -> StructType:
        """The schema, checked: raises if its type changes are not supported."""
        check_followed(self.logical_schema, table=self.table_version.table)
        return self.logical_schema

    @cached_property
    def context(self) -> FileContext:
        """The context that all files of the table share."""
        schema = self.logical_schema
        columns = [PartitionColumn.of(name, schema=schema) for name in self.partition_columns]
        return FileContext(
            root=self.table_version.table, partition_columns=tuple(columns), schema=schema
        )

    def row_request(
        self,
        *,
        where: str | Predicate | None = None,
        columns: Sequence[str] | None = None,
        options: RowOptions | None = None,
    ) -> RowRequest:
        """Return what `rows` reads from each data file, for readers elsewhere. It can be pickled.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: `where` is wrong.
            UnsupportedPredicateError, UnsupportedFeatureError: as for `rows`.
        """
        if self.table_version.dialect is INDEXTABLES:
            raise UnsupportedFeatureError(
                table=self.table_version.table, features=["rows of splits"]
            )
        request = wiring.row_request(
            self.readable_schema,
            context=self.context,
            predicate=self.bound_predicate(where, basis=Basis.VALUES),
            columns=None if columns is None else column_names(columns),
            mapping_mode=mapping_mode(self.protocol, self.metadata),
            options=options or RowOptions(),
        )
        try:
            request.output_schema  # noqa: B018  (a type that cannot be read is refused before it is)
        except ValueError as error:
            raise InvalidTableError(table=self.table_version.table, reason=str(error)) from error
        return request

    def bound_predicate(
        self, where: str | Predicate | None, *, basis: Basis
    ) -> BoundPredicate | None:
        """Bind a condition to the columns.

        Raises:
            PredicateSyntaxError, UnknownColumnError, PredicateTypeError: it is wrong.
        """
        if where is None:
            return None
        return wiring.bound_predicate(
            predicate(where),
            schema=self.readable_schema,
            partition_columns=self.partition_columns,
            basis=basis,
        )
