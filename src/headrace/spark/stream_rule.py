"""What a stream makes of a commit: which files it gives, and what it refuses."""

from collections.abc import Iterator, Sequence

from headrace.errors import (
    InvalidTableError,
    SchemaChangedError,
    TableReplacedError,
    UnstreamableChangeError,
)
from headrace.protocol.action import Add, Metadata
from headrace.protocol.feature import check_readable
from headrace.protocol.schema import ArrayType, DataType, MapType, StructType, parse_schema
from headrace.protocol.widening import is_widening
from headrace.spark.source_option import Tolerance
from headrace.spark.stream_commit import Commit

_MAPPING = "delta.columnMapping.mode"


def appended(commit: Commit, *, tolerance: Tolerance, table: str) -> Sequence[Add]:
    """The files whose rows a commit has added; those that only move rows are none.

    Raises:
        UnstreamableChangeError: it took rows away, which is not tolerated.
    """
    adds = [add for add in commit.adds if add.data_change]
    removed = next((remove for remove in commit.removes if remove.data_change), None)
    if removed is None:
        return adds
    match tolerance:
        case Tolerance.SKIP_COMMITS:
            return []
        case Tolerance.IGNORE_CHANGES:
            return adds
        case Tolerance.IGNORE_DELETES if not adds:
            return []
        case _:
            enough = [Tolerance.SKIP_COMMITS.value, Tolerance.IGNORE_CHANGES.value]
            if not adds:
                enough.append(Tolerance.IGNORE_DELETES.value)
            raise UnstreamableChangeError(
                table=table, version=commit.version, path=removed.path, options=enough
            )


def check_readable_by(
    commit: Commit, *, known: Metadata, schema: StructType, pinned_version: int, table: str
) -> None:
    """See that files written under a commit's metadata can be read by a stream.

    A stream has the schema of the version at which it was started. Older versions may lack some
    of its columns, which are then null; newer ones must have the same.

    Raises:
        TableReplacedError: it is another table.
        SchemaChangedError: its columns are others, or are found in another way.
        UnsupportedFeatureError: it needs features that are not implemented.
    """
    if commit.protocol is not None:
        check_readable(commit.protocol, table=table)
    metadata = commit.metadata
    if metadata is None:
        return
    if metadata.id != known.id:
        raise TableReplacedError(table=table, expected=known.id, found=metadata.id)
    try:
        written = parse_schema(metadata.schema_string)
    except ValueError as error:
        raise InvalidTableError(table=table, reason=str(error)) from error
    found = [*_found_otherwise(metadata, known), *_unreadable(written, schema, where="")]
    if commit.version > pinned_version:
        found += _gone(schema, written, where="")
    if found:
        raise SchemaChangedError(table=table, version=commit.version, difference=found[0])


def _found_otherwise(metadata: Metadata, known: Metadata) -> Iterator[str]:
    if metadata.partition_columns != known.partition_columns:
        yield f"it is partitioned by {', '.join(metadata.partition_columns) or 'nothing'}"
    mode, expected = (m.configuration.get(_MAPPING) or "none" for m in (metadata, known))
    if "id" in {mode, expected} and mode != expected:
        yield f"its columns are mapped by {mode}, not {expected}"


def _unreadable(written: StructType, read: StructType, *, where: str) -> Iterator[str]:
    """What files of one schema have that a reader of another would miss or misread."""
    for field in written.fields:
        name = f"{where}{field.name}"
        same = next((f for f in read.fields if f.name == field.name), None)
        if same is None or same.physical_name != field.physical_name:
            yield f"column {name} is none of the stream's"
            continue
        yield from _unreadable_type(field.type, same.type, name)


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


def _gone(read: StructType, written: StructType, *, where: str) -> Iterator[str]:
    """The columns of the stream that files of the other schema no longer have."""
    for field in read.fields:
        same = next((f for f in written.fields if f.name == field.name), None)
        if same is None:
            yield f"column {where}{field.name} is gone"
        elif isinstance(field.type, StructType) and isinstance(same.type, StructType):
            yield from _gone(field.type, same.type, where=f"{where}{field.name}.")
