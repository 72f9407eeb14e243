"""Writes Arrow values as JSON, including those that Python's own types cannot hold.

Record batches enter; JSON lines leave, or an error for text that is not valid UTF-8. Values without
a JSON form are strings: binary as Base64, decimals in digits, dates and times in ISO 8601, with as
many digits of the year as it has. A map is an object; it is a list of pairs if a key occurs twice
or cannot be the name of a member.
"""

from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import NotAcceptableError

_ARROW = "application/vnd.apache.arrow.stream"
_ENCODER = msgspec.json.Encoder(enc_hook=str)
_NO_PYTHON_FORM = (ValueError, OverflowError, TypeError, KeyError)
"""What Arrow and the encoder raise for dates after 9999, unhashable keys and duplicate keys."""


def encode_lines(batch: pa.RecordBatch) -> bytes:
    """Return one JSON object per row.

    Raises:
        NotAcceptableError: a text is not valid UTF-8, which only Arrow can carry.
    """
    try:
        return _ENCODER.encode_lines(batch.to_pylist(maps_as_pydicts="strict"))
    except _NO_PYTHON_FORM:
        names = batch.schema.names
        columns = [[_plain(value) for value in column] for column in batch.columns]
        rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        return _ENCODER.encode_lines(rows)


def _plain(value: pa.Scalar) -> Any:
    """Return a value that can be encoded."""
    try:
        plain = value.as_py(maps_as_pydicts="strict")
        _ENCODER.encode(plain)
    except _NO_PYTHON_FORM:
        return _plain_members(value)
    return plain


def _plain_members(value: pa.Scalar) -> Any:
    """Return a value whose members can be encoded, or its text."""
    match value:
        case pa.StructScalar():
            return {name: _plain(field) for name, field in value.items()}
        case pa.MapScalar():
            return _map([(_plain(pair[0]), _plain(pair[1])) for pair in value.values])
        case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar():
            return [_plain(item) for item in value.values]
        case pa.TimestampScalar():
            return _text(value).replace(" ", "T", 1)
        case _:
            return _text(value)


def _map(pairs: list[tuple[Any, Any]]) -> Any:
    """Return an object, or the pairs if a key occurs twice or cannot name a member."""
    try:
        members = dict(pairs)
        _ENCODER.encode(members)
    except TypeError:
        return pairs
    return members if len(members) == len(pairs) else pairs


def _text(value: pa.Scalar) -> str:
    try:
        return str(value.cast(pa.string()))
    except UnicodeDecodeError as error:
        raise NotAcceptableError(offered=(_ARROW,)) from error
