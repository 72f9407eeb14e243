"""A function of SQL as a runner sees it: its name, its signature, its kind, and its body."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from headrace.errors import FunctionFailedError, InvalidFunctionError
from headrace.pipeline.arrow_ddl import type_text

_OVERLOAD = re.compile(r"(__\d+)?(__over|__rows)?$|\|.*$")

Kernel: TypeAlias = Callable[..., Any]
"""Takes Arrow arrays of one length; what it gives depends on the kind of function."""


class FunctionKind(StrEnum):
    """What a function is computed from, and what it gives."""

    SCALAR = "scalar"
    """A column of values for columns of values."""
    AGGREGATE = "aggregate"
    """One value for the rows of a group, or of a frame. The rows have no order."""
    WINDOW = "window"
    """One value for the rows of a frame, in the order of the window."""
    TABLE = "table"
    """Rows for one value of each argument."""


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
        """The types of `count` arguments; None if the function takes another number of them."""
        if count < self.required or (count > len(self.arguments) and not self.variadic):
            return None
        extra = max(0, count - len(self.arguments))
        return self.arguments[:count] + self.arguments[-1:] * extra


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """A function: what it is called, what it takes and gives, and how it is computed."""

    name: str
    signature: Signature
    volatility: Volatility
    kernel: Kernel
    description: str
    is_promised: bool = False
    """Whether its author wrote `volatility="immutable"`: what its text cannot prove is believed."""
    kind: FunctionKind = FunctionKind.SCALAR
    argument_names: tuple[str, ...] = ()
    """The names by which a call may give its arguments, in lower case."""
    aliases: tuple[str, ...] = ()
    """Other names for it in SQL."""

    @property
    def is_volatile(self) -> bool:
        """Whether it may give something else at each call."""
        return self.volatility is Volatility.VOLATILE

    def __call__(self, *arrays: Any) -> pa.Array:
        """Compute a scalar function over Arrow arrays of types that can be cast to the declared.

        Raises:
            InvalidFunctionError: it takes another number of arguments, or gives something else
                than it declares.
            FunctionFailedError: its body raises.
        """
        if self.kind is not FunctionKind.SCALAR:
            reason = f"it is of the kind {self.kind}: call its kernel"
            raise InvalidFunctionError(function=self.name, reason=reason)
        types = self.signature.argument_types(len(arrays))
        if types is None:
            reason = f"it takes {self.signature}, not {len(arrays)} arguments"
            raise InvalidFunctionError(function=self.name, reason=reason)
        given = [
            whole(array).cast(kind) if array.type != kind else whole(array)
            for array, kind in zip(arrays, types, strict=True)
        ]
        result = whole(self.run(*given))
        if len(result) != len(given[0]):
            reason = f"it gave {len(result)} rows for {len(given[0])}"
            raise InvalidFunctionError(function=self.name, reason=reason)
        is_exact = result.type == self.signature.returns
        # Equal nested types may still name their parts differently.
        is_plain = not pa.types.is_nested(self.signature.returns)
        return result if is_exact and is_plain else self._declared(result)

    def run(self, *arguments: Any) -> Any:
        """Call the body.

        Raises:
            FunctionFailedError: it raises.
        """
        try:
            return self.kernel(*arguments)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise FunctionFailedError(function=self.name, reason=reason) from error

    def _declared(self, result: pa.Array) -> pa.Array:
        try:
            return result.cast(self.signature.returns)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = f"it declares {type_text(self.signature.returns)} and gave {result.type}"
            raise InvalidFunctionError(function=self.name, reason=reason) from error

    def overload(self, count: int) -> str:
        """The name of the overload that takes `count` arguments."""
        return self.name if self.signature.is_fixed else f"{self.name}__{count}"

    def over_name(self, count: int) -> str:
        """The name of the overload for use over a window."""
        return f"{self.overload(count)}__over"

    def rows_name(self, count: int) -> str:
        """The name of the overload that takes its arguments as one list of rows."""
        return f"{self.overload(count)}__rows"

    def positions(self, names: Sequence[str | None]) -> list[int]:
        """The place of each argument of a call, of which some are given by name.

        Raises:
            ValueError: a name is unknown or given twice, or an argument before it is left out.
        """
        places: list[int] = []
        for place, name in enumerate(names):
            if name is None:
                if any(before is not None for before in names[:place]):
                    raise ValueError("arguments by name come after all others")
                places.append(place)
                continue
            if name.casefold() not in self.argument_names:
                known = ", ".join(self.argument_names) or "none"
                raise ValueError(f"it has no argument {name}; there are {known}")
            places.append(self.argument_names.index(name.casefold()))
        if len({*places}) < len(places):
            raise ValueError("an argument is given twice")
        missing = [p for p in range(len(places)) if p not in places]
        if missing:
            raise ValueError(f"{self.argument_names[missing[0]]} is left out")
        return places


def plain_name(overload: str) -> str:
    """What a function is called, of which this is the name of an overload or of a kernel."""
    return _OVERLOAD.sub("", overload)


def whole(array: Any) -> pa.Array:
    """An array in one piece."""
    if isinstance(array, pa.ChunkedArray):
        return array.combine_chunks()
    return array
