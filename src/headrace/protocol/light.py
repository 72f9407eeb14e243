"""Arrow arrays and scalars of plain Python values and NumPy arrays, and the way back.

`pyarrow.array`, `pyarrow.scalar`, `to_numpy` and every kernel that is given a Python value import
pandas if it is installed, which takes longer than a short scan. The functions here fill Arrow's
buffers instead. They leave whatever is unusual to Arrow, so values and errors are the same.
"""

from array import array as numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_INTEGERS: Mapping[pa.DataType, str] = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.uint8(): "B",
    pa.uint16(): "H",
    pa.uint32(): "I",
    pa.uint64(): "Q",
}
_TEXTS: Mapping[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.string(): np.int32,
    pa.large_string(): np.int64,
}
_BYTES: Mapping[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.binary(): np.int32,
    pa.large_binary(): np.int64,
}
_USUAL_TYPES: Mapping[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
}
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MAX_OFFSET = 2**31 - 1

Values = Sequence[Any]
"""Python values of one type; nulls have been replaced."""
Buffers = list[pa.Buffer]


def array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    """Return `pyarrow.array(values, kind)`."""
    listed = values if isinstance(values, list) else list(values)
    kinds = set(map(type, listed))
    has_nulls = NoneType in kinds
    kinds.discard(NoneType)
    if not kinds:
        return pa.nulls(len(listed), kind)
    only = kinds.pop()
    fill = _FILL.get(only)
    if kinds or fill is None:
        return pa.array(listed, kind)
    plain, valid = listed, None
    if has_nulls:
        some = next(value for value in listed if value is not None)
        plain = [some if value is None else value for value in listed]
        valid = _bits(np.fromiter((v is not None for v in listed), np.bool_, len(listed)))
    try:
        buffers = fill(plain, kind)
    except (OverflowError, UnicodeError):
        buffers = None
    if buffers is None:
        return pa.array(listed, kind)
    return pa.Array.from_buffers(kind, len(listed), [valid, *buffers])


def scalar(value: object, kind: pa.DataType | None = None) -> pa.Scalar:
    """Return `pyarrow.scalar(value, kind)`."""
    kind = _USUAL_TYPES.get(type(value)) if kind is None else kind
    return pa.scalar(value) if kind is None else array([value], kind)[0]


def null(kind: pa.DataType) -> pa.Scalar:
    """Return a null of a type."""
    return pa.nulls(1, kind)[0]


def from_numpy(values: npt.NDArray[Any], *, is_null: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return `pyarrow.array(values, mask=is_null)` of booleans or numbers; it may share memory."""
    valid = None if is_null is None else _bits(~is_null)
    if values.dtype == np.bool_:
        buffer, kind = _bits(values), pa.bool_()
    else:
        buffer = pa.py_buffer(np.ascontiguousarray(values))
        kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [valid, buffer])


def to_numpy(values: pa.Array) -> npt.NDArray[Any]:
    """Return `values.to_numpy(zero_copy_only=False)`; it may be read-only."""
    kind = values.type
    is_number = kind in _INTEGERS or kind == pa.float64()
    if values.null_count or not (is_number or kind == pa.bool_()):
        plain: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return plain
    start, end, buffer = values.offset, values.offset + len(values), values.buffers()[1]
    if buffer is None:
        return np.empty(0, kind.to_pandas_dtype())
    if is_number:
        return np.frombuffer(buffer, kind.to_pandas_dtype())[start:end]
    first = start // 8
    bits = np.frombuffer(buffer, np.uint8)[first : -(-end // 8)]
    unpacked = np.unpackbits(bits, bitorder="little")[start - 8 * first : end - 8 * first]
    return unpacked.view(np.bool_)


def _bits(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def _integers(values: Values, kind: pa.DataType) -> Buffers | None:
    code = _INTEGERS.get(kind)
    return None if code is None else [pa.py_buffer(numbers(code, values))]


def _floats(values: Values, kind: pa.DataType) -> Buffers | None:
    return [pa.py_buffer(numbers("d", values))] if kind == pa.float64() else None


def _booleans(values: Values, kind: pa.DataType) -> Buffers | None:
    return [_bits(np.array(values, np.bool_))] if kind == pa.bool_() else None


def _texts(values: Values, kind: pa.DataType) -> Buffers | None:
    if kind not in _TEXTS:
        return None
    joined = "".join(values)
    if joined.isascii():
        return _joined(joined.encode(), map(len, values), len(values), _TEXTS[kind])
    encoded = [value.encode() for value in values]
    return _joined(b"".join(encoded), map(len, encoded), len(values), _TEXTS[kind])


def _byte_arrays(values: Values, kind: pa.DataType) -> Buffers | None:
    if kind not in _BYTES:
        return None
    return _joined(b"".join(values), map(len, values), len(values), _BYTES[kind])


def _joined(
    data: bytes, sizes: Iterable[int], count: int, offset: type[np.signedinteger[Any]]
) -> Buffers | None:
    if len(data) > _MAX_OFFSET:
        return None
    offsets = np.zeros(count + 1, offset)
    np.cumsum(np.fromiter(sizes, np.int64, count), out=offsets[1:])
    return [pa.py_buffer(offsets), pa.py_buffer(data)]


def _dates(values: Values, kind: pa.DataType) -> Buffers | None:
    if kind != pa.date32():
        return None
    return [pa.py_buffer(numbers("i", [value.toordinal() - _EPOCH_DAY for value in values]))]


def _decimals(values: Values, kind: pa.DataType) -> Buffers | None:
    if not pa.types.is_decimal(kind):
        return None
    width = kind.byte_width
    digits = [_unscaled(value, kind) for value in values]
    if None in digits:
        return None
    written = (n.to_bytes(width, "little", signed=True) for n in digits if n is not None)
    return [pa.py_buffer(b"".join(written))]


def _unscaled(value: Decimal, kind: pa.DataType) -> int | None:
    """Return a decimal in units of the type's scale; None if it is not finite or does not fit."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not -kind.scale <= exponent <= kind.precision:
        return None
    unscaled: int = int("".join(map(str, digits))) * 10 ** (exponent + kind.scale)
    if unscaled >= 10**kind.precision:
        return None
    return -unscaled if sign else unscaled


_FILL: Mapping[type, Callable[[Values, pa.DataType], Buffers | None]] = {
    int: _integers,
    float: _floats,
    bool: _booleans,
    str: _texts,
    bytes: _byte_arrays,
    date: _dates,
    Decimal: _decimals,
}

TRUE, FALSE = array([True, False], pa.bool_())
