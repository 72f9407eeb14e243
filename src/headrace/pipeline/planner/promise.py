"""A contract against a planned schema: what is broken, and what only the data can tell."""

import pyarrow as pa

from headrace.pipeline.contract import Breach, Contract, Violation


def check_promise(
    contract: Contract | None, schema: pa.Schema | None
) -> tuple[list[Violation], tuple[Violation, ...]]:
    """The violations that a plan proves, and those that are still open.

    Whether a column has nulls is open: a plan only knows that it might. So is the precision of a
    decimal, on which the engines differ; the result is cast to what was promised.
    """
    if contract is None or schema is None:
        return [], ()
    proved, unproved = [], []
    fields = {field.name.casefold(): field for field in schema}
    for violation in contract.check(schema):
        field = fields.get(violation.column.casefold())
        is_decimal = (
            violation.breach is Breach.TYPE_MISMATCH
            and field is not None
            and pa.types.is_decimal(field.type)
            and violation.expected.upper().startswith("DECIMAL")
        )
        if violation.breach is Breach.NULLABILITY_MISMATCH or is_decimal:
            unproved.append(violation)
        else:
            proved.append(violation)
    return proved, tuple(unproved)
