"""Checks the header of a view against its planned columns: contract, partitioning and keys.

A header and the planned columns enter; violations leave, with their position in the view's file.
They are found before anything is computed.
"""

from collections.abc import Sequence

import pyarrow as pa

from headrace.errors import InvalidViewError
from headrace.pipeline.analysis.name_scope import listed, nearest_name
from headrace.pipeline.contract import Breach, Contract, Evolution, Violation
from headrace.pipeline.project.header import Header, header_place


def check_promise(
    contract: Contract | None, schema: pa.Schema | None
) -> tuple[list[Violation], tuple[Violation, ...]]:
    """Return the violations that a schema proves, and those that only the data can prove.

    A nullable column may still have no nulls. The precision of a decimal is not a violation
    either: runners differ in it, and the result is cast to the promised type.
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


def check_promised_names(contract: Contract | None, names: Sequence[str]) -> list[Violation]:
    """Check the names of columns against a contract if their types are not known."""
    if contract is None or not names:
        return []
    actual = {name.casefold() for name in names}
    violations = [
        _violation(contract, Breach.MISSING_COLUMN, column.name, column.type, "no such column")
        for column in contract.columns
        if column.name.casefold() not in actual
    ]
    if contract.evolution is Evolution.STRICT:
        promised = {column.name.casefold() for column in contract.columns}
        violations += [
            _violation(contract, Breach.EXTRA_COLUMN, name, "no such column", "a column")
            for name in names
            if name.casefold() not in promised
        ]
    return violations


def _violation(
    contract: Contract, breach: Breach, column: str, expected: str, actual: str
) -> Violation:
    return Violation(
        table=contract.table, breach=breach, column=column, expected=expected, found=actual
    )


def place_violation(
    violation: Violation, *, file: str, sql: str | None, names: Sequence[str]
) -> str:
    """Return a violation with its position, and the nearest name if a column is missing."""
    place = header_place(sql, "contract", violation.column) if sql is not None else None
    where = f"{file}: " if place is None else f"{file} line {place[0]} column {place[1]}: "
    close = None
    if violation.breach is Breach.MISSING_COLUMN:
        close = nearest_name(violation.column, [name.casefold() for name in names])
    hint = "" if close is None else f"; did you mean {close}?"
    return f"{where}{violation}{hint}"


def check_layout(header: Header, *, file: str, sql: str | None, names: Sequence[str]) -> None:
    """Check that `@partition_by` and `@keys` name columns of the view.

    Raises:
        InvalidViewError: a name is not a column.
    """
    known = [name.casefold() for name in names]
    for key, named in (("partition_by", header.partition_by), ("keys", header.keys)):
        for name in named:
            if name.casefold() in known:
                continue
            place = header_place(sql, key, name) if sql is not None else None
            line, column = place or (None, None)
            close = nearest_name(name, known)
            hint = "" if close is None else f"; did you mean {close}?"
            reason = f"{listed(f'@{key} names {name}, which is not a column', names)}{hint}"
            raise InvalidViewError(file=file, line=line, column=column, reason=reason)
