"""SQL text to a predicate, in Spark's dialect; the only room of ours that knows the parser.

The text of a condition enters; a predicate over names leaves. What is legal SQL but not a
comparison of a column with a literal becomes opaque; what is no condition on a row at all is
an error.
"""

from headrace.expr.parse.condition import parse_predicate

__all__ = ["parse_predicate"]
