"""Evaluates constants while planning, to prove that they have the same result as on Spark.

A partial kernel is right for the values that it accepts, and raises `SparkOnlyError` for others. So
it is allowed for constants that it accepts; over columns it could fail in the middle of a run.
A constant that raises fails a query on Spark even if no row needs it, so it is refused.
"""

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.constant import (
    computes_casts_early,
    is_computed_early,
    is_constant,
)
from headrace.pipeline.translation.interval_type import carrier
from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import has_partial
from headrace.pipeline.translation.kernels.body import evaluate
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.typed import Typed

RAISES = "a constant raises an error, on Spark even if no row needs it"
_VARYING = (exp.Column, exp.Identifier, exp.Star, exp.Query, exp.Placeholder)


class Proofs:
    """The constants of one query that were evaluated."""

    def __init__(self, functions: Catalog) -> None:
        """Take the functions of the project, whose calls are no constants."""
        self._functions = functions
        self._proven: set[str] = set()
        self._raises_nothing: set[str] = set()
        self._nodes: dict[str, exp.Expr] = {}
        """The node that each expression was translated from."""

    def check(self, value: Typed, node: exp.Expr) -> None:
        """Check that partial kernels receive only constants that they accept.

        Raises:
            Refused: a partial kernel may receive another value.
        """
        text = value.text
        for proven in self._proven:
            text = text.replace(proven, "")
        if not has_partial(text):
            return
        if any(isinstance(part, _VARYING) for part in node.walk()):
            raise unsupported(node, "the catalogue has it for constants only")
        try:
            evaluate(value.text, [pa.array([0])], [], carrier(value.type))
        except Exception as error:
            # All other failures also occur on Spark.
            if SparkOnlyError.__name__ in str(error) or isinstance(error, SparkOnlyError):
                raise unsupported(node, "only Spark has the result for this value") from error
        self._proven.add(value.text)

    def check_constant(self, value: Typed, node: exp.Expr) -> None:
        """Check that a constant which Spark computes while planning does not raise.

        Raises:
            Refused: it does.
        """
        self._nodes[value.text] = node
        if value.can_fail and is_computed_early(node, self._functions):
            self._check_raises_nothing(value, node)

    def check_casts(
        self, casts: Sequence[tuple[Typed, Typed]], value: Typed, node: exp.Expr
    ) -> None:
        """Check that the implicit casts of constants in an expression do not raise.

        Args:
            casts: The values that were cast, each with its cast.
            value: The expression.
            node: The node of the expression.

        Raises:
            Refused: one does, and Spark computes it while planning.
        """
        used = [
            cast
            for source, cast in casts
            if cast.text in value.text and (source.is_literal or self._is_constant(source))
        ]
        if used and computes_casts_early(node, self._functions):
            for cast in used:
                self._check_raises_nothing(cast, node)

    def _is_constant(self, value: Typed) -> bool:
        node = self._nodes.get(value.text)
        return node is not None and is_constant(node, self._functions)

    def _check_raises_nothing(self, value: Typed, node: exp.Expr) -> None:
        if value.text in self._raises_nothing:
            return
        try:
            evaluate(value.text, [pa.array([0])], [], carrier(value.type))
        except Exception as error:
            raise unsupported(node, RAISES) from error
        self._raises_nothing.add(value.text)
