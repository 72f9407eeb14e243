"""Kernels: functions over Arrow with Spark's semantics, registered with DataFusion by signature.

The SQL name of a kernel contains everything needed to recreate it: what it computes, its
parameters, and its types. So a stored plan can run without the query that it was made from.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from headrace.pipeline.arrow_ddl import parse_type, type_text

Compute: TypeAlias = Callable[..., Any]
"""Takes the call and Arrow arrays of equal length; returns an Arrow array of that length."""

PREFIX = "spark_"
_NAME = re.compile(r'"(spark_[^"]*)"\(')

_COMPUTE: dict[str, Compute] = {}
_ROW_ORDERED: set[str] = set()
_PARTIAL: set[str] = set()


class KernelCall(msgspec.Struct, frozen=True):
    """One use of a kernel: its parameters and its types."""

    kernel: str
    parameters: tuple[str, ...]
    takes: tuple[pa.DataType, ...]
    gives: pa.DataType

    @property
    def sql_name(self) -> str:
        """Return its name in SQL and Substrait: lower case, as Substrait's reader folds names."""
        parameters = ";".join(map(_encode_text, self.parameters))
        takes = ";".join(map(_encode, self.takes))
        return f"{PREFIX}{self.kernel}|{parameters}|{takes}|{_encode(self.gives)}"

    def compute(self, *arrays: pa.Array) -> pa.Array:
        """Compute it; the result has exactly the declared type."""
        result = _COMPUTE[self.kernel](self, *arrays)
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        is_exact = result.type == self.gives and not pa.types.is_nested(self.gives)
        return result if is_exact else result.cast(self.gives)


def kernel(compute: Compute) -> Compute:
    """Register a function over Arrow as a kernel under its own name."""
    _COMPUTE[compute.__name__.strip("_")] = compute
    return compute


def partial_kernel(compute: Compute) -> Compute:
    """Register a kernel that raises `SparkOnlyError` for some values."""
    _PARTIAL.add(compute.__name__)
    return kernel(compute)


def has_partial(sql: str) -> bool:
    """Return whether DataFusion SQL calls a partial kernel, also inside `attempt`."""
    return any(not _PARTIAL.isdisjoint(_names_of(call)) for call in kernels_in(sql))


def _names_of(sql_name: str) -> tuple[str, str]:
    """Return the kernel of a call, and its first parameter, which names the kernel of `attempt`."""
    name, parameters, *_ = sql_name.removeprefix(PREFIX).split("|")
    return name, _decode_text(parameters.partition(";")[0])


def row_ordered_kernel(compute: Compute) -> Compute:
    """Register a kernel over the values of a group whose last digits depend on their order."""
    _ROW_ORDERED.add(compute.__name__)
    return kernel(compute)


def row_ordered(names: Iterable[str]) -> frozenset[str]:
    """Return the functions that are kernels whose last digits depend on the row order."""
    heads = {name: name.partition("|")[0].removeprefix(PREFIX) for name in names}
    return frozenset(name for name, head in heads.items() if head in _ROW_ORDERED)


def replace_kernel(name: str, compute: Compute) -> Compute:
    """Replace the computation of a kernel and return the previous one, for tests."""
    before = _COMPUTE[name]
    _COMPUTE[name] = compute
    return before


def module_of(kernel: str) -> str:
    """Return the module that defines a kernel."""
    return _COMPUTE[kernel].__module__


def parse_kernel(sql_name: str) -> KernelCall:
    """Return the call that a SQL name encodes."""
    name, parameters, takes, gives = sql_name.removeprefix(PREFIX).split("|")
    return KernelCall(
        name,
        tuple(_decode_text(part) for part in parameters.split(";") if parameters),
        tuple(_decode(part) for part in takes.split(";") if takes),
        _decode(gives),
    )


def kernels_in(sql: str) -> frozenset[str]:
    """Return the kernels that DataFusion SQL calls."""
    return frozenset(_NAME.findall(sql))


_PLAIN = re.compile(r"[a-z0-9_.-]+")
_HEX = "0x"


def _encode_text(text: str) -> str:
    """Encode a text in characters that no reader folds or splits."""
    is_plain = _PLAIN.fullmatch(text) and not text.startswith(_HEX)
    return text if is_plain else f"{_HEX}{text.encode().hex()}"


def _decode_text(text: str) -> str:
    if text.startswith(_HEX):
        return bytes.fromhex(text.removeprefix(_HEX)).decode()
    return text


def _encode(kind: pa.DataType) -> str:
    text = type_text(kind)
    if pa.types.is_nested(kind) and "STRUCT" in text:
        return _encode_text(text)
    return text.casefold().replace(" ", "")


def _decode(text: str) -> pa.DataType:
    return parse_type(_decode_text(text))
