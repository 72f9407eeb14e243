"""Decorators that declare functions, one for each kind.

@function("STRING", returns="STRING")
def shout(texts):
    return pc.utf8_upper(texts)

@aggregate("DOUBLE", returns="DOUBLE")
def spread(values):
    return pc.subtract(pc.max(values), pc.min(values))
"""

import inspect
from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa

from headrace.errors import InvalidFunctionError
from headrace.pipeline.arrow_ddl import parse_schema, parse_type, type_text
from headrace.pipeline.functions.definition import (
    Function,
    FunctionKind,
    Kernel,
    Signature,
    Volatility,
)


def function(  # noqa: PLR0913  (each is a separate option)
    *arguments: str | pa.DataType,
    returns: str | pa.DataType,
    volatility: Volatility | str | None = None,
    required: int | None = None,
    variadic: bool = False,
    name: str | None = None,
    aliases: Sequence[str] = (),
) -> Callable[[Kernel], Function]:
    """Declare a Python function over Arrow arrays as an SQL function.

    Args:
        arguments: The types of the arguments, in Spark's DDL or as Arrow types.
        returns: The type of the result.
        volatility: Whether two calls with the same arguments return the same. By default a function
            is immutable as far as its source proves it; `"immutable"` also asserts what the source
            does not prove, such as the content of a file with a computed path.
        required: The number of required arguments; by default all.
        variadic: Whether the last argument may be repeated.
        name: The name in SQL; by default the name of the Python function.
        aliases: Additional names in SQL.

    Raises:
        InvalidFunctionError: a type or option is unknown.
    """
    options = _Options(volatility, required, variadic, name, aliases)
    return _decorator(FunctionKind.SCALAR, arguments, returns, options)


def aggregate(
    *arguments: str | pa.DataType,
    returns: str | pa.DataType,
    volatility: Volatility | str | None = None,
    required: int | None = None,
    name: str | None = None,
    aliases: Sequence[str] = (),
) -> Callable[[Kernel], Function]:
    """Declare a Python function over the rows of a group as an SQL aggregate.

    The body receives one Arrow array per argument, nulls included, and returns a Python value or an
    Arrow scalar. A group without rows has arrays of length 0. The rows of a group have no order
    in SQL, so they are sorted by the arguments, nulls first: a result never depends on how a runner
    distributes the rows. In `OVER (...)` a group is the frame.

    Args:
        arguments: The types of the arguments; nested types cannot be sorted.
        returns: The type of the result.
        volatility: As for `function`.
        required: As for `function`.
        name: As for `function`.
        aliases: As for `function`.

    Raises:
        InvalidFunctionError: a type or option is unknown, or an argument is nested.
    """
    options = _Options(volatility, required, False, name, aliases)
    return _decorator(FunctionKind.AGGREGATE, arguments, returns, options)


def window(
    *arguments: str | pa.DataType,
    returns: str | pa.DataType,
    volatility: Volatility | str | None = None,
    required: int | None = None,
    name: str | None = None,
    aliases: Sequence[str] = (),
) -> Callable[[Kernel], Function]:
    """Declare a Python function over the rows of a frame as an SQL window function.

    The body receives one Arrow array per argument, in the order of the window's ORDER BY, and
    returns the value of the row that the frame belongs to. By default a frame ends with that row
    and its peers.

    Args:
        arguments: As for `function`.
        returns: As for `function`.
        volatility: As for `function`.
        required: As for `function`.
        name: As for `function`.
        aliases: As for `function`.

    Raises:
        InvalidFunctionError: a type or option is unknown.
    """
    options = _Options(volatility, required, False, name, aliases)
    return _decorator(FunctionKind.WINDOW, arguments, returns, options)


def table_function(
    *arguments: str | pa.DataType,
    returns: str | pa.Schema,
    volatility: Volatility | str | None = None,
    required: int | None = None,
    name: str | None = None,
    aliases: Sequence[str] = (),
) -> Callable[[Kernel], Function]:
    """Declare a Python function that returns a table as an SQL table function, for FROM.

    The body receives a Python value for each argument, and returns an Arrow table, a record batch,
    or a dict of columns.

    Args:
        arguments: The types of the arguments, if any.
        returns: The columns of the result: `"day DATE, is_holiday BOOLEAN"`.
        volatility: As for `function`.
        required: As for `function`.
        name: As for `function`.
        aliases: As for `function`.

    Raises:
        InvalidFunctionError: a type or option is unknown.
    """
    options = _Options(volatility, required, False, name, aliases)
    return _decorator(FunctionKind.TABLE, arguments, returns, options)


class _Options(msgspec.Struct, frozen=True):
    """The options that the declarations of all kinds share."""

    volatility: Volatility | str | None
    required: int | None
    variadic: bool
    name: str | None
    aliases: Sequence[str]


def _decorator(
    kind: FunctionKind,
    arguments: Sequence[str | pa.DataType],
    returns: str | pa.DataType | pa.Schema,
    options: _Options,
) -> Callable[[Kernel], Function]:
    """Return the decorator that turns a body into a function of this kind."""

    def declare(kernel: Kernel) -> Function:
        sql_name = (options.name or kernel.__name__).casefold()
        required = len(arguments) if options.required is None else options.required
        written = options.volatility
        try:
            signature = Signature(
                arguments=_types(arguments),
                returns=_row_type(returns) if kind is FunctionKind.TABLE else _types([returns])[0],
                required=required,
                variadic=options.variadic,
            )
            volatility = Volatility.IMMUTABLE if written is None else Volatility(written)
            _check(kind, signature)
        except ValueError as error:
            raise InvalidFunctionError(function=sql_name, reason=str(error)) from error
        return Function(
            name=sql_name,
            signature=signature,
            volatility=volatility,
            kernel=kernel,
            description=(kernel.__doc__ or "").strip().partition("\n\n")[0],
            is_promised=written is not None and volatility is Volatility.IMMUTABLE,
            kind=kind,
            argument_names=_argument_names(kernel, len(arguments)),
            aliases=tuple(alias.casefold() for alias in options.aliases),
        )

    return declare


def _check(kind: FunctionKind, signature: Signature) -> None:
    least = 0 if kind is FunctionKind.TABLE else 1
    if not least <= signature.required <= len(signature.arguments):
        reason = "it must take at least one argument, so that it knows how many rows to return"
        raise ValueError(reason)
    nested = [t for t in signature.arguments if pa.types.is_nested(t)]
    if kind is FunctionKind.AGGREGATE and nested:
        kind_text = type_text(nested[0])
        reason = (
            f"{kind_text} is nested, so rows cannot be sorted by it: take its parts as arguments"
        )
        raise ValueError(reason)


def _argument_names(kernel: Kernel, count: int) -> tuple[str, ...]:
    """Return the names of a body's parameters, without variadic ones."""
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name.casefold() for p in parameters if p.kind in plain)[:count]


def _types(kinds: Sequence[str | pa.DataType]) -> tuple[pa.DataType, ...]:
    return tuple(parse_type(kind) if isinstance(kind, str) else kind for kind in kinds)


def _row_type(columns: str | pa.Schema) -> pa.DataType:
    """Return the type of one row of a table."""
    schema = parse_schema(columns) if isinstance(columns, str) else columns
    return pa.struct([field.remove_metadata() for field in schema])
