"""The columns that a change feed adds to those of the table, and the ways to append them."""

from msgspec.structs import replace

from headrace.protocol.schema import Field, PrimitiveType, StructType
from headrace.rows.request import RowRequest

CHANGE_TYPE = Field("_change_type", PrimitiveType("string"))
COMMIT_VERSION = Field("_commit_version", PrimitiveType("long"))
COMMIT_TIMESTAMP = Field("_commit_timestamp", PrimitiveType("timestamp"))
FEED_FIELDS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)


def with_feed(columns: StructType) -> StructType:
    """Return the table's columns, followed by those of the feed."""
    return StructType((*columns.fields, *FEED_FIELDS))


def with_change_type(request: RowRequest) -> RowRequest:
    """Return the request for change data files, which store the type of change of each row."""
    return replace(
        request,
        schema=StructType((*request.schema.fields, CHANGE_TYPE)),
        columns=StructType((*request.columns.fields, CHANGE_TYPE)),
    )
