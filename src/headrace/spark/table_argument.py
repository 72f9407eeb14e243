"""Resolves the argument `table` of functions for Spark: an address or a `Table`, to a `Table`."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.table import Table


def resolve_table(
    table: Table | str | PathLike[str], storage_options: Mapping[str, Any] | None
) -> Table:
    """Return an open table unchanged; open an address.

    Raises:
        InvalidArgumentError: there are storage options for an open table.
    """
    if not isinstance(table, Table):
        return Table(table, storage_options=storage_options)
    if storage_options is not None:
        reason = "the table is already open: pass them to Table"
        raise InvalidArgumentError(argument="storage_options", reason=reason)
    return table
