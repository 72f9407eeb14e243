"""How a function is declared, and what a runner gets to see of it.

@function("STRING", returns="STRING")
def shout(texts):
    return pc.utf8_upper(texts)
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from headrace.errors import InvalidFunctionError
from headrace.pipeline.arrow_ddl import parse_type, type_text

_OVERLOAD = re.compile(r"__\d+$|\|.*$")

Kernel: TypeAlias = Callable[..., Any]
"""Takes Arrow arrays of one length, gives an Arrow array of that length."""


class Volatility(StrEnum):
    """What two calls with the same arguments have in common."""

    IMMUTABLE = "immutable"
    """Always the same result."""
    STABLE = "stable"
    """The same result within one run: a view that uses it is never skipped."""
    VOLATILE = "volatile"
    """Perhaps another result each time: a view that uses it is never skipped."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The types of a function's arguments and of its result."""

    arguments: tuple[pa.DataType, ...]
    returns: pa.DataType
    required: int
    """How many of the arguments must be given."""
    variadic: bool = False
    """Whether the last argument may be given more than once."""

    def __str__(self) -> str:
        shown = [
            type_text(kind) if index < self.required else f"[{type_text(kind)}]"
            for index, kind in enumerate(self.arguments)
        ]
        dots = ", ..." if self.variadic else ""
        return f"({', '.join(shown)}{dots}) -> {type_text(self.returns)}"

    @property
    def is_fixed(self) -> bool:
        """Whether there is only one number of arguments."""
        return not self.variadic and self.required == len(self.arguments)

    def argument_types(self, count: int) -> tuple[pa.DataType, ...] | None:
        """The types of so many arguments; None if the function does not take so many."""
        if count < self.required or (count > len(self.arguments) and not self.variadic):
            return None
        extra = max(0, count - len(self.arguments))
        return self.arguments[:count] + self.arguments[-1:] * extra


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """A scalar function: what it is called, what it takes and gives, and how it is computed."""

    name: str
    signature: Signature
    volatility: Volatility
    kernel: Kernel
    description: str
    is_promised: bool = False
    """Whether its author wrote `volatility="immutable"`: what its text cannot prove is believed."""

    @property
    def is_volatile(self) -> bool:
        """Whether it may give something else at each call."""
        return self.volatility is Volatility.VOLATILE

    def __call__(self, *arrays: Any) -> pa.Array:
        """Compute it over Arrow arrays of any type that can be cast to the declared one.

        Raises:
            InvalidFunctionError: it takes another number of arguments, or gives something else
                than it declares.
        """
        types = self.signature.argument_types(len(arrays))
        if types is None:
            reason = f"it takes {self.signature}, not {len(arrays)} arguments"
            raise InvalidFunctionError(function=self.name, reason=reason)
        given = [
            _whole(array).cast(kind) if array.type != kind else _whole(array)
            for array, kind in zip(arrays, types, strict=True)
        ]
        result = _whole(self.kernel(*given))
        if len(result) != len(given[0]):
            reason = f"it gave {len(result)} rows for {len(given[0])}"
            raise InvalidFunctionError(function=self.name, reason=reason)
        is_exact = result.type == self.signature.returns
        # Equal nested types may still name their parts differently.
        is_plain = not pa.types.is_nested(self.signature.returns)
        return result if is_exact and is_plain else self._declared(result)

    def _declared(self, result: pa.Array) -> pa.Array:
        try:
            return result.cast(self.signature.returns)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = f"it declares {type_text(self.signature.returns)} and gave {result.type}"
            raise InvalidFunctionError(function=self.name, reason=reason) from error

    def overload(self, count: int) -> str:
        """The name under which so many arguments are registered where arity is fixed."""
        return self.name if self.signature.is_fixed else f"{self.name}__{count}"


def plain_name(overload: str) -> str:
    """What a function is called, of which this is the name of an overload or of a kernel."""
    return _OVERLOAD.sub("", overload)


def function(
    *arguments: str | pa.DataType,
    returns: str | pa.DataType,
    volatility: Volatility | str | None = None,
    required: int | None = None,
    variadic: bool = False,
    name: str | None = None,
) -> Callable[[Kernel], Function]:
    """Declare a Python function over Arrow arrays to be a function of SQL.

    Args:
        arguments: The types of the arguments, in Spark's words or as Arrow types.
        returns: The type of the result.
        volatility: What two calls with the same arguments have in common. By default a function
            is immutable as far as its text proves it; `"immutable"` promises it for what the text
            leaves open, such as a file whose path is computed.
        required: How many arguments must be given; by default all.
        variadic: Whether the last argument may be given more than once.
        name: What SQL calls it; by default the function's own name.

    Raises:
        InvalidFunctionError: a type or word is unknown.
    """

    def declare(kernel: Kernel) -> Function:
        called = (name or kernel.__name__).casefold()
        try:
            signature = Signature(
                arguments=_types(arguments),
                returns=_types([returns])[0],
                required=len(arguments) if required is None else required,
                variadic=variadic,
            )
            kind = Volatility.IMMUTABLE if volatility is None else Volatility(volatility)
        except ValueError as error:
            raise InvalidFunctionError(function=called, reason=str(error)) from error
        if not 1 <= signature.required <= len(arguments):
            reason = "it must take at least one argument, so that it knows how many rows to give"
            raise InvalidFunctionError(function=called, reason=reason)
        return Function(
            name=called,
            signature=signature,
            volatility=kind,
            kernel=kernel,
            description=(kernel.__doc__ or "").strip().partition("\n\n")[0],
            is_promised=volatility is not None and kind is Volatility.IMMUTABLE,
        )

    return declare


def _types(given: Sequence[str | pa.DataType]) -> tuple[pa.DataType, ...]:
    return tuple(parse_type(kind) if isinstance(kind, str) else kind for kind in given)


def _whole(array: Any) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        return array.combine_chunks()
    return array
