"""Checks that data files written under one schema can be read under another without loss.

A commit and a pinned schema enter; an error leaves that names the first difference, if any.
"""

from collections.abc import Iterator

import msgspec

from headrace.errors import InvalidTableError, SchemaChangedError, TableReplacedError
from headrace.protocol.action import Metadata, Protocol
from headrace.protocol.column_mapping import MappingMode, mapping_mode, table_schema
from headrace.protocol.feature import check_readable
from headrace.protocol.schema import ArrayType, DataType, MapType, StructType
from headrace.protocol.widening import is_widening
from headrace.scan.commit import Commit


class PinnedSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The schema that rows are read under, with the protocol and metadata it was pinned at."""

    table: str
    version: int
    protocol: Protocol
    metadata: Metadata
    schema: StructType


def check_readable_by(commit: Commit, *, pinned: PinnedSchema) -> None:
    """Check that files written under a commit's metadata can be read under a pinned schema.

    Older versions may lack some columns, which are then null; newer ones must have the same.

    Raises:
        TableReplacedError: it is another table.
        SchemaChangedError: its columns, or their mapping, differ.
        UnsupportedFeatureError: it needs features that are not implemented.
    """
    table, known, schema = pinned.table, pinned.metadata, pinned.schema
    protocol = commit.protocol or pinned.protocol
    check_readable(protocol, table=table)
    metadata = commit.metadata
    if metadata is None:
        return
    if metadata.id != known.id:
        raise TableReplacedError(table=table, expected=known.id, found=metadata.id)
    try:
        written = table_schema(protocol, metadata)
        modes = mapping_mode(protocol, metadata), mapping_mode(pinned.protocol, known)
    except ValueError as error:
        raise InvalidTableError(table=table, reason=str(error)) from error
    differences = [*_unreadable(written, schema, where="")]
    if MappingMode.ID in modes and modes[0] is not modes[1]:
        differences.insert(0, f"its columns are mapped by {modes[0].value}, not {modes[1].value}")
    if metadata.partition_columns != known.partition_columns:
        differences.insert(
            0, f"it is partitioned by {', '.join(metadata.partition_columns) or 'nothing'}"
        )
    if commit.version > pinned.version:
        differences += _missing_columns(schema, written, where="")
    if differences:
        raise SchemaChangedError(table=table, version=commit.version, difference=differences[0])


def _unreadable(written: StructType, read: StructType, *, where: str) -> Iterator[str]:
    """Yield what a reader of one schema would miss or misread in files of another."""
    for field in written.fields:
        name = f"{where}{field.name}"
        read_field = next((f for f in read.fields if f.name == field.name), None)
        if read_field is None or read_field.physical_name != field.physical_name:
            yield f"column {name} is not in the stream's schema"
            continue
        yield from _unreadable_type(field.type, read_field.type, name)


def _unreadable_type(written: DataType, read: DataType, name: str) -> Iterator[str]:
    match written, read:
        case StructType(), StructType():
            yield from _unreadable(written, read, where=f"{name}.")
        case ArrayType(), ArrayType():
            yield from _unreadable_type(written.element, read.element, f"{name}.element")
        case MapType(), MapType():
            yield from _unreadable_type(written.key, read.key, f"{name}.key")
            yield from _unreadable_type(written.value, read.value, f"{name}.value")
        case _ if written != read and not is_widening(written, read):
            yield f"column {name} is {written}, not {read}"
        case _:
            return


def _missing_columns(read: StructType, written: StructType, *, where: str) -> Iterator[str]:
    """Yield the columns of the stream that files of the other schema no longer have."""
    for field in read.fields:
        written_field = next((f for f in written.fields if f.name == field.name), None)
        if written_field is None:
            yield f"column {where}{field.name} is gone"
        elif isinstance(field.type, StructType) and isinstance(written_field.type, StructType):
            yield from _missing_columns(
                field.type, written_field.type, where=f"{where}{field.name}."
            )
