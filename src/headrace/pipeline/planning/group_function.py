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
        groups: Callable[[], Accumulator] = partial(GroupReduction, function, kinds)
        state = [row_list_type(function, arity)]
        name = function.overload(arity)
        context.register_udaf(udaf(groups, list(kinds), returns, state, volatility, name))


class GroupReduction(Accumulator):
    """Collects the rows of one group."""

    def __init__(self, function: Function, types: Sequence[pa.DataType]) -> None:
        """Start with no rows."""
        self._function, self._types = function, types
        self._parts: list[Sequence[pa.Array]] = []

    def update(self, *values: pa.Array) -> None:
        """Take in the arguments of some rows."""
        self._parts.append(values)

    def merge(self, states: list[pa.Array]) -> None:
        """Take in the rows that others have collected."""
        self._parts.append(pc.list_flatten(states[0]).flatten())

    def state(self) -> list[pa.Scalar]:
        """The rows so far, as one list."""
        kind = row_list_type(self._function, len(self._types))
        rows = pa.StructArray.from_arrays(self._columns(), type=kind.value_type)
        return [pa.ListArray.from_arrays([0, len(rows)], rows)[0]]

    def evaluate(self) -> pa.Scalar:
        """The value of the group."""
        return reduce_rows(self._function, self._columns())

    def _columns(self) -> list[pa.Array]:
        return [
            whole(pa.chunked_array([part[place] for part in self._parts], kind))
            for place, kind in enumerate(self._types)
        ]


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
