"""Calls of table functions: each is a table whose name contains all that is needed to compute it.

So a stored plan names what it scans, and can run without the query that it was made from.
"""

import re

import msgspec
import pyarrow as pa
from datafusion import SessionContext

from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.functions.computation import compute_table
from headrace.pipeline.translation.kernel import kernels_in
from headrace.pipeline.translation.kernels.table import register_kernels

_PREFIX = "rows_of__"
_NAME = re.compile(rf'"({_PREFIX}\w+__[0-9a-f]+)"')


class TableCall(msgspec.Struct, frozen=True):
    """A table function with its arguments, which are constant DataFusion SQL expressions."""

    function: str
    arguments: tuple[str, ...]

    @property
    def relation(self) -> str:
        """Return the name of the table, in characters that no reader folds or splits."""
        return f"{_PREFIX}{self.function}__{msgspec.json.encode(self.arguments).hex()}"

    def schema(self, catalog: Catalog) -> pa.Schema:
        """Return the columns, under the names that plans use."""
        row = catalog[self.function].signature.returns
        return pa.schema([field.with_name(field.name.casefold()) for field in row])

    def compute(self, catalog: Catalog, session: SessionContext) -> pa.Table:
        """Return the rows: a session evaluates the arguments, and the function is called once.

        Raises:
            FunctionFailedError, InvalidFunctionError: the function fails.
        """
        values: list[object] = []
        if self.arguments:
            select_list = ", ".join(f"{text} AS a{i}" for i, text in enumerate(self.arguments))
            register_kernels(session, kernels_in(select_list))
            (row,) = session.sql(f"SELECT {select_list}").to_pylist()
            values = list(row.values())
        return compute_table(catalog[self.function], values).rename_columns(
            self.schema(catalog).names
        )


def parse_table_call(relation: str) -> TableCall | None:
    """Return the call that a table name encodes; None if it is another table."""
    if not relation.startswith(_PREFIX):
        return None
    function, _, encoded = relation.removeprefix(_PREFIX).rpartition("__")
    return TableCall(function, msgspec.json.decode(bytes.fromhex(encoded), type=tuple[str, ...]))


def shown_relation(relation: str) -> str:
    """Return the display name of a table: the function if it is a call."""
    call = parse_table_call(relation)
    return relation if call is None else f"{call.function}()"


def table_calls_in(sql: str) -> list[TableCall]:
    """Return the table calls in DataFusion SQL."""
    calls = {name: parse_table_call(name) for name in _NAME.findall(sql)}
    return [call for call in calls.values() if call is not None]
