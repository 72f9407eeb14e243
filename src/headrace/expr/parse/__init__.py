"""Parse SQL text in Spark's dialect into a predicate; the only part of `expr` to import sqlglot.

The text of a condition enters; a predicate over names leaves. Legal SQL other than a comparison of
a column with a literal becomes opaque. Text that is not a condition on a row is an error.
"""

from headrace.expr.parse.condition import parse_predicate

__all__ = ["parse_predicate"]
