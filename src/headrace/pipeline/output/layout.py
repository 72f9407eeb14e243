"""How rows are laid out in a table: whether their columns allow what the header asks."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headrace.errors import InvalidResultError
from headrace.pipeline.project.header import Header


def lay_out(view: str, schema: pa.Schema, header: Header) -> Header:
    """The header with partition columns and keys spelled as the columns are.

    Raises:
        InvalidResultError: there is no such column, the values of a partition column have more
            than one spelling, or a column has no type.
    """
    for field in schema:
        if pa.types.is_null(field.type):
            reason = f"column {field.name} is NULL and has no type: cast it, e.g. to STRING"
            raise InvalidResultError(view=view, reason=reason)
    by = _spelled(view, schema, header.partition_by, "it is to be partitioned by")
    keys = _spelled(view, schema, header.keys, "its key is")
    for name in by:
        kind = schema.field(name).type
        if not _has_one_spelling(kind):
            reason = f"it is to be partitioned by {name}, whose type {kind} has no one spelling"
            raise InvalidResultError(view=view, reason=f"{reason}: cast it, e.g. to a date")
    return msgspec.structs.replace(header, partition_by=by, keys=keys)


def _spelled(view: str, schema: pa.Schema, names: Sequence[str], purpose: str) -> tuple[str, ...]:
    spelling = {name.casefold(): name for name in schema.names}
    for name in names:
        if name.casefold() not in spelling:
            reason = f"{purpose} {name}, and its columns are {', '.join(schema.names)}"
            raise InvalidResultError(view=view, reason=reason)
    return tuple(spelling[name.casefold()] for name in names)


def _has_one_spelling(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_boolean(kind)
    )
