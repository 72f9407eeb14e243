"""Aggregate and window functions of a catalog as DataFusion's own kinds of functions."""

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import Accumulator, SessionContext, udaf, udwf
from datafusion.user_defined import WindowEvaluator

from headrace.pipeline.functions.computation import reduce_rows, row_list_type
from headrace.pipeline.functions.definition import Function, FunctionKind, whole


def register_group_function(context: SessionContext, function: Function, arity: int) -> None:
    """Make an aggregate or window function known to a session, for one number of arguments.

    An aggregate is registered twice, since DataFusion would have to take rows out of one again
    where a frame moves on: over windows it is a window function.
    """
    kinds = function.signature.argument_types(arity)
    assert kinds is not None, "the translation has checked the number of arguments"
    returns, volatility = function.signature.returns, function.volatility.value
    frames: Callable[[], WindowEvaluator] = partial(FrameReduction, function, arity)
    name = function.over_name(arity)
    context.register_udwf(udwf(frames, list(kinds), returns, volatility, name))
    if function.kind is FunctionKind.AGGREGATE:
        groups: Callable[[], Accumulator] = partial(GroupReduction, function, arity)
        state = [row_list_type(function, arity)]
        name = function.overload(arity)
        context.register_udaf(udaf(groups, list(kinds), returns, state, volatility, name))


class GroupReduction(Accumulator):
    """Collects the rows of one group."""

    def __init__(self, function: Function, arity: int) -> None:
        """Start with no rows."""
        self._function, self._arity = function, arity
        self._rows_type = row_list_type(function, arity).value_type
        self._parts: list[pa.Array] = []

    def update(self, *values: pa.Array) -> None:
        """Take in the arguments of some rows."""
        columns = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(values[: self._arity], self._rows_type, strict=True)
        ]
        self._parts.append(pa.StructArray.from_arrays(columns, type=self._rows_type))

    def merge(self, states: list[pa.Array]) -> None:
        """Take in the rows that others have collected."""
        self._parts.append(pc.list_flatten(states[0]))

    def state(self) -> list[pa.Scalar]:
        """The rows so far, as one list."""
        rows = self._rows()
        return [pa.ListArray.from_arrays([0, len(rows)], rows)[0]]

    def evaluate(self) -> pa.Scalar:
        """The value of the group."""
        rows = self._rows()
        return reduce_rows(self._function, [rows.field(i) for i in range(self._arity)])

    def _rows(self) -> pa.Array:
        return whole(pa.chunked_array(self._parts, self._rows_type))


class FrameReduction(WindowEvaluator):
    """Computes a value for the frame of each row."""

    def __init__(self, function: Function, arity: int) -> None:
        """Take the function."""
        self._function, self._arity = function, arity

    def uses_window_frame(self) -> bool:
        """Ask for frames: without one, each row would get the whole partition."""
        return True

    def evaluate(self, values: Sequence[pa.Array], eval_range: tuple[int, int]) -> pa.Scalar:
        """The value of a frame; behind the arguments stand the columns of ORDER BY."""
        begin, end = eval_range
        frame = [array.slice(begin, end - begin) for array in values[: self._arity]]
        return reduce_rows(self._function, frame)
