"""A declared function as runners use it: name, signature, kind and body.

`declaration` creates functions; runners call them, and register them under the names of their
overloads.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from headrace.errors import FunctionFailedError, InvalidFunctionError
from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.called_import import CalledImports

_OVERLOAD = re.compile(r"(__\d+)?(__over|__rows)?$|\|.*$")

Kernel: TypeAlias = Callable[..., Any]
"""Takes Arrow arrays of equal length; the result depends on the kind of function."""


class FunctionKind(StrEnum):
    """What a function is computed from, and what it returns."""

    SCALAR = "scalar"
    """A column of values, from columns of values."""
    AGGREGATE = "aggregate"
    """One value, from the unordered rows of a group or frame."""
    WINDOW = "window"
    """One value, from the rows of a frame in the window's order."""
    TABLE = "table"
    """Rows, from one value of each argument."""


class Volatility(StrEnum):
    """Whether two calls with the same arguments return the same."""

    IMMUTABLE = "immutable"
    """Always the same result."""
    STABLE = "stable"
    """The same result within one run; a view that uses it is never skipped."""
    VOLATILE = "volatile"
    """Possibly a different result each time; a view that uses it is never skipped."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The types of a function's arguments and of its result."""

    arguments: tuple[pa.DataType, ...]
    returns: pa.DataType
    required: int
    """The number of required arguments."""
    variadic: bool = False
    """Whether the last argument may be repeated."""

    def __str__(self) -> str:
        shown = [
            type_text(kind) if index < self.required else f"[{type_text(kind)}]"
            for index, kind in enumerate(self.arguments)
        ]
        dots = ", ..." if self.variadic else ""
        return f"({', '.join(shown)}{dots}) -> {type_text(self.returns)}"

    @property
    def is_fixed(self) -> bool:
        """Return whether the number of arguments is fixed."""
        return not self.variadic and self.required == len(self.arguments)

    def argument_types(self, count: int) -> tuple[pa.DataType, ...] | None:
        """Return the types of `count` arguments; None if the function does not take that many."""
        if count < self.required or (count > len(self.arguments) and not self.variadic):
            return None
        extra = max(0, count - len(self.arguments))
        return self.arguments[:count] + self.arguments[-1:] * extra


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """A function: its names, its signature, and how it is computed."""

    name: str
    signature: Signature
    volatility: Volatility
    kernel: Kernel
    description: str
    is_promised: bool = False
    """Whether its author wrote `volatility="immutable"`, which is trusted without proof."""
    kind: FunctionKind = FunctionKind.SCALAR
    argument_names: tuple[str, ...] = ()
    """The names by which a call may pass its arguments, in lower case."""
    aliases: tuple[str, ...] = ()
    """Additional names in SQL."""
    imports: CalledImports | None = None
    """The modules that its body can import; None if it imports none of its project."""

    @property
    def is_volatile(self) -> bool:
        """Return whether each call may return a different result."""
        return self.volatility is Volatility.VOLATILE

    def __call__(self, *arrays: Any) -> pa.Array:
        """Compute a scalar function over Arrow arrays, cast to the declared types.

        Raises:
            InvalidFunctionError: the number of arguments is wrong, or the body returns something
                other than declared.
            FunctionFailedError: the body raises.
        """
        if self.kind is not FunctionKind.SCALAR:
            reason = f"it is of the kind {self.kind}: call its kernel"
            raise InvalidFunctionError(function=self.name, reason=reason)
        types = self.signature.argument_types(len(arrays))
        if types is None:
            reason = f"it takes {self.signature}, not {len(arrays)} arguments"
            raise InvalidFunctionError(function=self.name, reason=reason)
        arguments = [
            whole(array).cast(kind) if array.type != kind else whole(array)
            for array, kind in zip(arrays, types, strict=True)
        ]
        result = whole(self.run(*arguments))
        if len(result) != len(arguments[0]):
            reason = f"it returned {len(result)} rows for {len(arguments[0])}"
            raise InvalidFunctionError(function=self.name, reason=reason)
        is_exact = result.type == self.signature.returns
        # Equal nested types may still name their parts differently.
        is_plain = not pa.types.is_nested(self.signature.returns)
        return result if is_exact and is_plain else self._declared(result)

    def run(self, *arguments: Any) -> Any:
        """Call the body.

        Raises:
            FunctionFailedError: the body raises.
        """
        try:
            with nullcontext() if self.imports is None else self.imports.available():
                return self.kernel(*arguments)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise FunctionFailedError(function=self.name, reason=reason) from error

    def _declared(self, result: pa.Array) -> pa.Array:
        try:
            return result.cast(self.signature.returns)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = f"it declares {type_text(self.signature.returns)} and returned {result.type}"
            raise InvalidFunctionError(function=self.name, reason=reason) from error

    def overload(self, count: int) -> str:
        """Return the name of the overload that takes `count` arguments."""
        return self.name if self.signature.is_fixed else f"{self.name}__{count}"

    def over_name(self, count: int) -> str:
        """Return the name of the overload for use over a window."""
        return f"{self.overload(count)}__over"

    def rows_name(self, count: int) -> str:
        """Return the name of the overload that takes its arguments as one list of rows."""
        return f"{self.overload(count)}__rows"

    def positions(self, names: Sequence[str | None]) -> list[int]:
        """Return the position of each argument of a call with named arguments.

        Raises:
            ValueError: a name is unknown or repeated, or a preceding argument is missing.
        """
        places: list[int] = []
        for place, name in enumerate(names):
            if name is None:
                if any(before is not None for before in names[:place]):
                    raise ValueError("positional arguments must come before named ones")
                places.append(place)
                continue
            if name.casefold() not in self.argument_names:
                known = ", ".join(self.argument_names) or "none"
                raise ValueError(f"it has no argument {name}; there are {known}")
            places.append(self.argument_names.index(name.casefold()))
        if len({*places}) < len(places):
            raise ValueError("an argument is passed twice")
        missing = [p for p in range(len(places)) if p not in places]
        if missing:
            raise ValueError(f"{self.argument_names[missing[0]]} is missing")
        return places


def plain_name(overload: str) -> str:
    """Return the name of the function that an overload or a kernel belongs to."""
    return _OVERLOAD.sub("", overload)


def whole(array: Any) -> pa.Array:
    """Return an array in one chunk."""
    if isinstance(array, pa.ChunkedArray):
        return array.combine_chunks()
    return array
