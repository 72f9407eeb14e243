"""Opens a table that a caller passes to Spark as an address or as a `Table`."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.table import Table


def open_given(
    table: Table | str | PathLike[str], storage_options: Mapping[str, Any] | None
) -> Table:
    """Open a table, unless it is already open.

    Raises:
        InvalidArgumentError: storage options are given for an open table.
    """
    if not isinstance(table, Table):
        return Table(table, storage_options=storage_options)
    if storage_options is not None:
        reason = "the table is open already; give them to Table"
        raise InvalidArgumentError(argument="storage_options", reason=reason)
    return table
