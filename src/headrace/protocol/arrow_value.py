"""Convert strings to typed Arrow arrays: the vectorised form of `typed_value`.

The scalar form alone defines what a string means. Arrow's own casts are used only if every string
has the plain spelling on which both agree.
"""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import PartitionValueError
from headrace.protocol import light
from headrace.protocol.arrow_schema import arrow_type
from headrace.protocol.schema import DataType, PrimitiveType
from headrace.protocol.value import typed_value

_PLAIN_INTEGER = r"^-?[0-9]{1,18}$"
_PLAIN_DATE = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
_PLAIN_TIME = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?%s$"
_LOCAL_TIME = _PLAIN_TIME % ""
_ZONED_TIME = _PLAIN_TIME % r"(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])"


def typed_array(texts: pa.StringArray, data_type: DataType) -> tuple[pa.Array, pa.BooleanArray]:
    """Return the values of these strings, and a mask of the strings that are invalid.

    Nulls, empty strings and strings that are not of the type become null. The mask, which is never
    null, is true only for the last.
    """
    target = arrow_type(data_type)
    texts = texts.cast(pa.string())
    texts = pc.if_else(pc.equal(texts, light.scalar("")), light.null(pa.string()), texts)
    if pa.types.is_string(target):
        return texts, pa.repeat(light.FALSE, len(texts))
    # Many files share a partition value, so convert each distinct value once.
    encoded = texts.dictionary_encode()
    values, uncastable = _cast_distinct(encoded.dictionary, data_type, target)
    return (
        values.take(encoded.indices),
        pc.fill_null(uncastable.take(encoded.indices), light.FALSE),
    )


def vector_ids(
    storage_types: pa.StringArray, paths: pa.StringArray, offsets: pa.Int32Array
) -> pa.StringArray:
    """Return the unique ids of deletion vectors, as `action.vector_id`; null without a vector."""
    base = pc.binary_join_element_wise(storage_types, paths, light.scalar(""))
    with_offset = pc.binary_join_element_wise(base, offsets.cast(pa.string()), light.scalar("@"))
    return pc.if_else(pc.is_valid(offsets), with_offset, base)


def _cast_distinct(
    texts: pa.StringArray, data_type: DataType, target: pa.DataType
) -> tuple[pa.Array, pa.BooleanArray]:
    try:
        values = _cast_plain(texts, data_type, target)
    except pa.ArrowInvalid:  # well-formed but no such value, as in 30 February
        values = None
    if values is not None:
        return values, pa.repeat(light.FALSE, len(texts))
    typed = [_value_or_none(text, data_type) for text in texts.to_pylist()]
    array = light.array(typed, target)
    return array, array.is_null()


def _cast_plain(texts: pa.StringArray, data_type: DataType, target: pa.DataType) -> pa.Array | None:
    match data_type:
        case PrimitiveType("byte" | "short" | "integer" | "long"):
            return texts.cast(target) if _all_match(texts, _PLAIN_INTEGER) else None
        case PrimitiveType("date"):
            return texts.cast(target) if _all_match(texts, _PLAIN_DATE) else None
        case PrimitiveType("timestamp" | "timestamp_ntz" as name):
            if _all_match(texts, _LOCAL_TIME):
                return texts.cast(pa.timestamp("us")).cast(target)
            if name == "timestamp" and _all_match(texts, _ZONED_TIME):
                return texts.cast(target)
            return None
        case _:
            return None


def _all_match(texts: pa.StringArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _value_or_none(text: str, data_type: DataType) -> object:
    try:
        return typed_value(text, data_type, column="")
    except PartitionValueError:
        return None
