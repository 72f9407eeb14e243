"""Checks that Spark accepts the arguments of calls and operators.

Spark's function signatures are stored as data. Types are checked only where they are known, and
only what Spark rejects under every setting is reported.
"""

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.analysis.name_scope import nearest_name
from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.functions.builtin import spark_functions, spark_signatures
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.translation.refusal import wrong

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_COMPARISON = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_SYNTAX = frozenset({"identifier", "grouping", "grouping_id", "exists", "any", "some", "all"})
"""Words before a parenthesis that are not plain functions."""
TAKES_UNIT = frozenset(
    {"timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"}
)
"""Functions that may take a bare unit such as MONTH as the first of three arguments."""
UNIT_CALL = 3
_NESTED = frozenset({"ARRAY", "MAP", "STRUCT"})
_NOT_BOOLEAN = frozenset({"INT", "DECIMAL", "DOUBLE", "DATE", "TIMESTAMP", "BINARY", *_NESTED})


def check_call(
    node: exp.Anonymous, kinds: Sequence[pa.DataType | None], *, functions: Catalog
) -> None:
    """Check a function call.

    Args:
        node: The call.
        kinds: The types of its arguments, where known.
        functions: The functions of the project.

    Raises:
        Refused: there is no such function, or it does not take these arguments.
    """
    name = node.name.casefold()
    is_ordered = isinstance(node.parent, exp.WithinGroup)
    if (
        name in _SYNTAX
        or is_ordered
        or any(isinstance(part, exp.Kwarg | exp.Star) for part in node.expressions)
    ):
        return
    count = len(_arguments(node))
    if name in TAKES_UNIT and count == UNIT_CALL:
        return
    if name in functions:
        declared = functions[name].signature
        if declared.argument_types(count) is None:
            raise wrong(node, f"it takes {declared}, not {count} arguments")
        return
    if name not in spark_functions():
        known = [*functions.entries, *spark_functions()]
        raise wrong(node, "there is no such function", nearest_name(name, known))
    signature = spark_signatures().get(name)
    if signature is None:
        return
    if not signature.takes(count):
        raise wrong(node, f"it takes {signature.arity}, not {count}")
    if count == 1 and len(kinds) == 1 and type_class(kinds[0]) in signature.rejected:
        assert kinds[0] is not None, "a type that is not known has no class"
        raise wrong(node, f"it does not take {type_text(kinds[0])}")


def check_operator(node: exp.Binary, left: pa.DataType | None, right: pa.DataType | None) -> None:
    """Check a binary operator.

    Raises:
        Refused: Spark has no such operator for these types.
    """
    sides = [type_class(left), type_class(right)]
    for side, kind in zip(sides, (left, right), strict=True):
        is_wrong = (isinstance(node, _ARITHMETIC) and side in {"BOOLEAN", *_NESTED}) or (
            isinstance(node, exp.And | exp.Or) and side in _NOT_BOOLEAN
        )
        if is_wrong and kind is not None:
            raise wrong(node, f"this operator does not take {type_text(kind)}")
    if (
        isinstance(node, _COMPARISON)
        and left is not None
        and right is not None
        and None not in sides
        and sides[0] != sides[1]
        and not _NESTED.isdisjoint(side for side in sides if side)
    ):
        raise wrong(node, f"{type_text(left)} and {type_text(right)} cannot be compared")


def type_class(kind: pa.DataType | None) -> str | None:
    """Return the name of a type in the signature table; None if the table has no such type."""
    if kind is None:
        return None
    tests = {
        "BOOLEAN": pa.types.is_boolean,
        "INT": pa.types.is_integer,
        "DECIMAL": pa.types.is_decimal,
        "DOUBLE": pa.types.is_floating,
        "STRING": pa.types.is_string,
        "BINARY": pa.types.is_binary,
        "DATE": pa.types.is_date,
        "TIMESTAMP": pa.types.is_timestamp,
        "ARRAY": pa.types.is_list,
        "MAP": pa.types.is_map,
        "STRUCT": pa.types.is_struct,
    }
    return next((word for word, test in tests.items() if test(kind)), None)


def _arguments(node: exp.Anonymous) -> list[exp.Expr]:
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Distinct):
        return list(node.expressions[0].expressions)
    return list(node.expressions)
