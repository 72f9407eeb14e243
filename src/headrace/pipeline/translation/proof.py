"""Evaluates constants while planning, to prove that a partial kernel supports them.

A partial kernel is right for the values that it accepts, and raises `SparkOnlyError` for others. So
it is allowed for constants that it accepts; over columns it could fail in the middle of a run.
"""

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.translation.interval_type import carrier
from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import has_partial
from headrace.pipeline.translation.kernels.body import evaluate
from headrace.pipeline.translation.refusal import unsupported
from headrace.pipeline.translation.typed import Typed

_VARYING = (exp.Column, exp.Identifier, exp.Star, exp.Query, exp.Placeholder)


class Proofs:
    """The constants of one query that were evaluated."""

    def __init__(self) -> None:
        self._proven: set[str] = set()

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
