"""Registers a catalog's aggregate and window functions as DataFusion functions.

A function enters with its number of arguments; the session can then call it over groups and over
window frames.
"""

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
from datafusion import SessionContext, udf, udwf
from datafusion.user_defined import WindowEvaluator

from headrace.pipeline.functions.computation import reduce_lists, reduce_rows, row_list_type
from headrace.pipeline.functions.definition import Function, FunctionKind


def register_group_function(context: SessionContext, function: Function, arity: int) -> None:
    """Register an aggregate or window function in a session, for one number of arguments.

    An aggregate is registered twice: over a group it is a scalar function of the list of rows that
    DataFusion's own `array_agg` collects, many groups per call; over a window it receives each
    frame.
    """
    kinds = function.signature.argument_types(arity)
    assert kinds is not None, "the translation has checked the number of arguments"
    returns, volatility = function.signature.returns, function.volatility.value
    frames: Callable[[], WindowEvaluator] = partial(FrameReduction, function, arity)
    name = function.over_name(arity)
    context.register_udwf(udwf(frames, list(kinds), returns, volatility, name))
    if function.kind is FunctionKind.AGGREGATE:
        groups = partial(_reduce, function, arity)
        lists = [row_list_type(function, arity)]
        name = function.rows_name(arity)
        context.register_udf(udf(groups, lists, returns, volatility, name))


def _reduce(function: Function, arity: int, lists: pa.Array) -> pa.Array:
    return reduce_lists(function, lists, arity)


class FrameReduction(WindowEvaluator):
    """Computes one value for the frame of each row."""

    def __init__(self, function: Function, arity: int) -> None:
        """Take the function."""
        self._function, self._arity = function, arity

    def uses_window_frame(self) -> bool:
        """Return True: without frames, each row would get the whole partition."""
        return True

    def evaluate(self, values: Sequence[pa.Array], eval_range: tuple[int, int]) -> pa.Scalar:
        """Return the value of a frame; the columns of ORDER BY follow the arguments."""
        begin, end = eval_range
        frame = [array.slice(begin, end - begin) for array in values[: self._arity]]
        return reduce_rows(self._function, frame)
