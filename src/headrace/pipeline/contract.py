"""Contracts: the columns that a view promises, and how strictly they are checked.

A contract is made from an Arrow schema or from DDL, and converts back to both. Types are stored as
DDL, but compared as types.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256

import msgspec
import pyarrow as pa

from headrace.pipeline.arrow_ddl import parse_type, schema_text, spark_type, type_text
from headrace.pipeline.widening import widens

FINGERPRINT_KEY = b"headrace.schema.fingerprint"
"""The metadata key under which a schema has the fingerprint of its contract."""


class Evolution(StrEnum):
    """How strictly a schema is checked against a contract."""

    STRICT = "STRICT"
    """The same columns in the same order, with the same types."""
    ADDITIVE = "ADDITIVE"
    """Additional columns are allowed."""
    RELAXED = "RELAXED"
    """Additional columns, any order, and types that can be widened to the promised ones."""


class Breach(StrEnum):
    """The kind of a violation."""

    MISSING_COLUMN = "MISSING_COLUMN"
    EXTRA_COLUMN = "EXTRA_COLUMN"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    NULLABILITY_MISMATCH = "NULLABILITY_MISMATCH"
    COLUMN_ORDER = "COLUMN_ORDER"
    PARTITION_MISMATCH = "PARTITION_MISMATCH"
    ORDERING_MISMATCH = "ORDERING_MISMATCH"
    METADATA_MISMATCH = "METADATA_MISMATCH"


class ColumnContract(msgspec.Struct, frozen=True, kw_only=True):
    """A promised column; its type is Spark DDL."""

    name: str
    type: str
    nullable: bool = True
    comment: str = ""

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type."""
        return parse_type(self.type)


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between a schema and a contract."""

    table: str
    breach: Breach
    column: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.table}.{self.column}: {self.breach} (promised {self.expected}, "
            f"found {self.found})"
        )


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """The promised columns of a table."""

    table: str
    columns: tuple[ColumnContract, ...]
    partition_columns: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()
    evolution: Evolution = Evolution.STRICT
    metadata: dict[str, str] = {}

    def __post_init__(self) -> None:
        names = {column.name.casefold() for column in self.columns}
        for name in (*self.partition_columns, *self.ordering):
            if name.casefold() not in names:
                raise ValueError(f"{name} is not among the columns of the contract")

    @classmethod
    def from_arrow(  # noqa: PLR0913  (the parts of a contract)
        cls,
        schema: pa.Schema,
        *,
        table: str,
        evolution: Evolution = Evolution.STRICT,
        partition_columns: Sequence[str] = (),
        ordering: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> "Contract":
        """Return the contract of a schema.

        Raises:
            ValueError: a partition or ordering column is not among the columns.
        """
        schema_metadata = {
            key.decode(): value.decode()
            for key, value in (schema.metadata or {}).items()
            if key != FINGERPRINT_KEY
        }
        return cls(
            table=table,
            columns=tuple(
                ColumnContract(
                    name=field.name,
                    type=type_text(field.type),
                    nullable=field.nullable,
                    comment=((field.metadata or {}).get(b"comment") or b"").decode(),
                )
                for field in schema
            ),
            partition_columns=tuple(partition_columns),
            ordering=tuple(ordering),
            evolution=evolution,
            metadata={**schema_metadata, **(metadata or {})},
        )

    def to_arrow(self) -> pa.Schema:
        """Return the promised schema, with the fingerprint in its metadata."""
        fields = [
            pa.field(
                column.name,
                column.arrow_type,
                nullable=column.nullable,
                metadata={"comment": column.comment} if column.comment else None,
            )
            for column in self.columns
        ]
        metadata = {**self.metadata, FINGERPRINT_KEY.decode(): self.fingerprint}
        return pa.schema(fields, metadata=metadata)

    @property
    def fingerprint(self) -> str:
        """A hash of the columns, their types and nullability, partitioning and order."""
        columns = [
            [column.name, type_text(column.arrow_type), column.nullable] for column in self.columns
        ]
        parts = [columns, self.partition_columns, self.ordering]
        return sha256(msgspec.json.encode(parts)).hexdigest()

    def ddl(self, *, location: str | None = None) -> str:
        """Return the `CREATE TABLE` statement of the contract."""
        partitioned = ", ".join(self.partition_columns)
        properties = ", ".join(f"'{k}' = '{v}'" for k, v in sorted(self.metadata.items()))
        return "\n".join(
            line
            for line, is_needed in (
                (f"CREATE TABLE {self.table} (", True),
                (f"  {schema_text(self.to_arrow())}", True),
                (") USING DELTA", True),
                (f"PARTITIONED BY ({partitioned})", bool(partitioned)),
                (f"LOCATION '{location}'", location is not None),
                (f"TBLPROPERTIES ({properties})", bool(properties)),
            )
            if is_needed
        )

    def check(
        self,
        schema: pa.Schema,
        *,
        partition_columns: Sequence[str] | None = None,
        ordering: Sequence[str] | None = None,
        with_metadata: bool = False,
    ) -> tuple[Violation, ...]:
        """Return the violations of a schema, under the contract's policy.

        Args:
            schema: The schema of a table or plan; names are compared case-insensitively.
            partition_columns: The actual partitioning; None to skip this check.
            ordering: The actual sort order; None to skip this check.
            with_metadata: Whether to check the metadata, too.
        """
        return tuple(self._violations(schema, partition_columns, ordering, with_metadata))

    def _violations(
        self,
        schema: pa.Schema,
        partition_columns: Sequence[str] | None,
        ordering: Sequence[str] | None,
        with_metadata: bool,  # noqa: FBT001
    ) -> Iterator[Violation]:
        fields = {field.name.casefold(): field for field in schema}
        for column in self.columns:
            field = fields.get(column.name.casefold())
            if field is None:
                breach = Breach.MISSING_COLUMN
                yield self._violation(breach, column.name, column.type, "no such column")
            else:
                yield from self._compare_column(column, field)
        promised = [column.name.casefold() for column in self.columns]
        if self.evolution is Evolution.STRICT:
            for name, field in fields.items():
                if name not in promised:
                    breach = Breach.EXTRA_COLUMN
                    yield self._violation(breach, field.name, "no such column", str(field.type))
        common = [name for name in fields if name in promised]
        if self.evolution is not Evolution.RELAXED and common != [
            n for n in promised if n in fields
        ]:
            yield self._violation(Breach.COLUMN_ORDER, "*", ", ".join(promised), ", ".join(common))
        yield from self._compare_names(
            Breach.PARTITION_MISMATCH, self.partition_columns, partition_columns
        )
        yield from self._compare_names(Breach.ORDERING_MISMATCH, self.ordering, ordering)
        if with_metadata:
            actual_metadata = {k.decode(): v.decode() for k, v in (schema.metadata or {}).items()}
            for key, value in self.metadata.items():
                if actual_metadata.get(key) != value:
                    breach = Breach.METADATA_MISMATCH
                    yield self._violation(breach, key, value, str(actual_metadata.get(key)))

    def _compare_column(self, column: ColumnContract, field: pa.Field) -> Iterator[Violation]:
        """Yield the violations of a column that exists: its type and nullability."""
        promised_type, actual_type = column.arrow_type, spark_type(field.type)
        fits = widens(actual_type, promised_type) if self.evolution is Evolution.RELAXED else False
        if actual_type != promised_type and not fits:
            actual_text = type_text(actual_type)
            yield self._violation(Breach.TYPE_MISMATCH, column.name, column.type, actual_text)
        if field.nullable and not column.nullable:
            breach = Breach.NULLABILITY_MISMATCH
            yield self._violation(breach, column.name, "NOT NULL", "nullable")

    def _compare_names(
        self, breach: Breach, promised: Sequence[str], actual: Sequence[str] | None
    ) -> Iterator[Violation]:
        if actual is not None and [*map(str.casefold, promised)] != [*map(str.casefold, actual)]:
            yield self._violation(breach, "*", ", ".join(promised) or "none", ", ".join(actual))

    def _violation(self, breach: Breach, column: str, expected: str, actual: str) -> Violation:
        return Violation(
            table=self.table, breach=breach, column=column, expected=expected, found=actual
        )
