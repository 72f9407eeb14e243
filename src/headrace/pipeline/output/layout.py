"""Checks that the columns of a result allow the partitioning and keys of the view's header.

The schema of the result and the header enter; the header leaves with names spelled as in the
schema, so that whatever is written uses one spelling.
"""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headrace.errors import InvalidResultError
from headrace.pipeline.project.header import Header


def lay_out(view: str, schema: pa.Schema, header: Header) -> Header:
    """Return the header with partition columns and keys spelled as in the schema.

    Raises:
        InvalidResultError: a column does not exist or has no type, or the values of a partition
            column have more than one text form.
    """
    for field in schema:
        if pa.types.is_null(field.type):
            reason = f"column {field.name} is NULL and has no type: cast it, e.g. to STRING"
            raise InvalidResultError(view=view, reason=reason)
    partition_by = _spelled_as_in(view, schema, header.partition_by, "@partition_by names")
    keys = _spelled_as_in(view, schema, header.keys, "@keys names")
    for name in partition_by:
        kind = schema.field(name).type
        if not _has_one_text_form(kind):
            reason = f"it cannot be partitioned by {name}: {kind} values have several text forms"
            raise InvalidResultError(view=view, reason=f"{reason}; cast it, e.g. to a date")
    return msgspec.structs.replace(header, partition_by=partition_by, keys=keys)


def _spelled_as_in(
    view: str, schema: pa.Schema, names: Sequence[str], setting: str
) -> tuple[str, ...]:
    spelling = {name.casefold(): name for name in schema.names}
    for name in names:
        if name.casefold() not in spelling:
            reason = f"{setting} {name}, but the columns are {', '.join(schema.names)}"
            raise InvalidResultError(view=view, reason=reason)
    return tuple(spelling[name.casefold()] for name in names)


def _has_one_text_form(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_boolean(kind)
    )
