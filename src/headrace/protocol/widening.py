"""Type widening: which changes of a column's type are supported.

The schema records the type changes of each field in its metadata. A table with an unsupported
change is refused by name: values written under the old type could not be read as the new one.
"""

from collections.abc import Iterator

from headrace.errors import InvalidTableError, UnsupportedFeatureError
from headrace.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
)

_CHANGES = "delta.typeChanges"
_DECIMAL_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""The integer digits that a decimal needs to hold each integer type."""
_WIDER = {
    "byte": {"short", "integer", "long", "double"},
    "short": {"integer", "long", "double"},
    "integer": {"long", "double"},
    "float": {"double"},
    "date": {"timestamp_ntz"},
}


def check_followed(schema: StructType, *, table: str) -> None:
    """Refuse a table whose old files could not be read under its schema.

    Raises:
        UnsupportedFeatureError: a column has an unsupported type change.
        InvalidTableError: the type changes of a column cannot be decoded.
    """
    try:
        changes = list(unsupported_changes(schema))
    except (ValueError, KeyError, TypeError) as error:
        reason = f"the history of a column's type cannot be decoded ({error!r})"
        raise InvalidTableError(table=table, reason=reason) from error
    if changes:
        raise UnsupportedFeatureError(table=table, features=changes)


def unsupported_changes(schema: StructType) -> Iterator[str]:
    """Yield a readable description of each unsupported type change."""
    for field in schema.fields:
        for change in field.metadata.get(_CHANGES, ()):
            before, after = parse_type(change["fromType"]), parse_type(change["toType"])
            if not is_widening(before, after):
                yield f"the type change of column {field.name} from {before} to {after}"
        yield from _nested(field.type)


def is_widening(before: DataType, after: DataType) -> bool:
    """Whether every value of `before` is a value of `after`, as Delta defines it."""
    match before, after:
        case PrimitiveType(old), PrimitiveType(new):
            return new in _WIDER.get(old, ())
        case PrimitiveType(old), DecimalType(precision, scale) if old in _DECIMAL_DIGITS:
            return precision - scale >= _DECIMAL_DIGITS[old]
        case DecimalType(), DecimalType():
            more_digits = after.precision - before.precision
            return more_digits >= after.scale - before.scale >= 0
        case _:
            return False


def _nested(data_type: DataType) -> Iterator[str]:
    match data_type:
        case StructType():
            yield from unsupported_changes(data_type)
        case ArrayType(element):
            yield from _nested(element)
        case MapType(key, value):
            yield from _nested(key)
            yield from _nested(value)
        case _:
            return
